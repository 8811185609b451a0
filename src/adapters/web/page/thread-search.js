// The search box above the conversations: words, and which threads are looked at.

import { h, setAttr } from './dom.js';
import { channelName, t } from './strings.js';

const FIND_AFTER_MS = 180;
const STATES = ['running', 'awaiting-approval', 'archived'];
const PLATFORMS = ['web', 'telegram', 'feishu', 'qq', 'api', 'cli', 'task'];

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

export class ThreadSearch {
  /** `find(query)` with the keys of `/api/threads`; an empty query ends the search. */
  constructor(find) {
    this.find = find;
    this.input = $('thread-search');
    this.filter = $('thread-filter');
    this.input.addEventListener('input', () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.ask(), FIND_AFTER_MS);
    });
    this.filter.addEventListener('change', () => this.ask());
    this.input.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.input.value !== '') {
        event.preventDefault();
        event.stopPropagation();
        this.input.value = '';
        this.ask();
      } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
        event.preventDefault();
        /** @type {HTMLElement} */ (document.querySelector('#threads a'))?.focus();
      }
    });
  }

  ask() {
    clearTimeout(this.timer);
    const query = {};
    const words = this.input.value.trim();
    if (words) query.q = words;
    const [key, value] = this.filter.value.split(' ');
    if (value) query[key] = value;
    setAttr(this.filter, 'data-set', value ? 'true' : null);
    this.find(query);
  }

  /** Rebuilds the choices, for another language. */
  reset() {
    const chosen = this.filter.value || 'all';
    const option = (value, text) => h('option', { value, text, selected: value === chosen });
    this.filter.replaceChildren(
      option('all', t('filterAll')),
      ...STATES.map((state) => option(`state ${state}`, t('filterStates')[state])),
      ...PLATFORMS.map((platform) => option(`platform ${platform}`, channelName(platform).replace(/^the /, ''))));
  }

  focus() {
    this.input.focus();
    this.input.select();
  }
}
