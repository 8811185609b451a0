// The search box above the conversations: words, and which threads are looked at.

import { h, setAttr } from './dom.js';
import { channelName, t } from './strings.js';

const FIND_AFTER_MS = 180;
const STATES = ['running', 'awaiting-approval', 'archived'];
const PLATFORMS = ['web', 'telegram', 'feishu', 'qq', 'api', 'cli', 'task'];
const DAY_MS = 86_400_000;
/** How far back each choice reaches, in days before today. */
const SINCE = { today: 0, week: 6, month: 29, year: 364 };

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

/** The beginning of a day so many days ago, as the daemon reads it. */
export function daysAgo(days, now = Date.now()) {
  return new Date(new Date(now).setHours(0, 0, 0, 0) - days * DAY_MS).toISOString();
}

export class ThreadSearch {
  /** `find(query)` with the keys of `/api/threads`; an empty query ends the search. */
  constructor(find) {
    this.find = find;
    this.input = $('thread-search');
    this.selects = { state: $('thread-filter'), platform: $('thread-platform'), since: $('thread-since') };
    this.person = $('thread-person');
    for (const field of [this.input, this.person]) {
      field.addEventListener('input', () => {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.ask(), FIND_AFTER_MS);
      });
    }
    for (const select of Object.values(this.selects)) select.addEventListener('change', () => this.ask());
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

  /** The people whose names are offered. */
  know(names) {
    $('thread-people').replaceChildren(...names.map((value) => h('option', { value })));
  }

  ask() {
    clearTimeout(this.timer);
    const { state, platform, since } = this.selects;
    const given = {
      q: this.input.value.trim(), state: state.value, platform: platform.value, person: this.person.value.trim(),
      since: since.value && daysAgo(SINCE[since.value]),
    };
    for (const field of [state, platform, since, this.person]) setAttr(field, 'data-set', field.value ? 'true' : null);
    this.find(Object.fromEntries(Object.entries(given).filter(([, value]) => value)));
  }

  /** Rebuilds the choices, for another language. */
  reset() {
    const choices = {
      state: STATES.map((name) => [name, t('filterStates')[name]]),
      platform: PLATFORMS.map((name) => [name, channelName(name).replace(/^the /, '')]),
      since: Object.keys(SINCE).map((name) => [name, t('filterSinceNames')[name]]),
    };
    const all = { state: t('filterAll'), platform: t('filterAnyPlatform'), since: t('filterAnyTime') };
    for (const [name, select] of Object.entries(this.selects)) {
      const chosen = select.value;
      const option = ([value, text]) => h('option', { value, text, selected: value === chosen });
      select.replaceChildren(...[['', all[name]], ...choices[name]].map(option));
    }
  }

  focus() {
    this.input.focus();
    this.input.select();
  }
}
