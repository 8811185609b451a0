// The command palette (Ctrl-K, on a Mac Cmd-K): what the console can do, its pages and its
// conversations, found by typing; and the list of shortcuts.

import { h, icon, setAttr, setText } from './dom.js';
import { t } from './strings.js';

const MOST_THREADS = 30;

/** Whether the letters of `typed` occur in `text` in their order; the lower the number, the better. */
export function fits(typed, text) {
  const [wanted, whole] = [typed.toLowerCase(), text.toLowerCase()];
  if (wanted === '') return 0;
  const at = whole.indexOf(wanted);
  if (at >= 0) return at;
  let from = 0;
  for (const letter of wanted) {
    from = whole.indexOf(letter, from) + 1;
    if (from === 0) return -1;
  }
  return 1_000;
}

export class Palette {
  /** `actions()` returns `[{name, icon, words, key?, act()}]`, `threads()` the listed conversations, `openThread(id)` opens one. */
  constructor({ actions, threads, openThread }) {
    this.actions = actions;
    this.threads = threads;
    this.openThread = openThread;
    this.at = 0;
    this.shown = [];
    this.input = h('input', {
      class: 'palette-input', type: 'text', role: 'combobox', autocomplete: 'off', spellcheck: 'false', 'aria-expanded': 'true', 'aria-controls': 'palette-list',
      'data-testid': 'palette-input', oninput: () => this.update(),
    });
    this.list = h('ul', { class: 'palette-list', id: 'palette-list', role: 'listbox' });
    this.el = h('dialog', { class: 'palette', 'data-testid': 'palette', onkeydown: (event) => this.onKey(event), onclick: (event) => event.target === this.el && this.el.close() }, this.input, this.list);
    this.keys = h('dialog', { class: 'ask', 'data-testid': 'shortcuts', 'aria-labelledby': 'shortcuts-title' });
    document.body.append(this.el, this.keys);
    this.reset();
  }

  get isOpen() {
    return this.el.open || this.keys.open;
  }

  reset() {
    for (const [el, key] of [[this.input, 'paletteLabel'], [this.list, 'paletteLabel'], [this.el, 'palette']]) setAttr(el, 'aria-label', t(key));
    setAttr(this.input, 'placeholder', t('paletteLabel'));
  }

  close() {
    this.el.close();
    this.keys.close();
  }

  open() {
    this.input.value = '';
    this.update();
    if (!this.el.open) this.el.showModal();
    this.input.focus();
  }

  update() {
    const typed = this.input.value.trim();
    const found = (items) => items
      .map((item) => ({ item, rank: fits(typed, item.words) }))
      .filter(({ rank }) => rank >= 0)
      .sort((one, other) => one.rank - other.rank)
      .map(({ item }) => item);
    const threads = this.threads().slice(0, 500).map(({ threadId, title }) => ({
      name: 'thread', icon: 'chat', words: title || t('untitled'), act: () => this.openThread(threadId),
    }));
    this.shown = [...found(this.actions()), ...found(threads).slice(0, MOST_THREADS)];
    this.at = 0;
    this.render();
  }

  render() {
    const option = (item, at) => h('li', {
      class: 'palette-item', role: 'option', id: `palette-${at}`, 'aria-selected': String(at === this.at), 'data-testid': `palette-${item.name}`,
      onclick: () => this.choose(item),
    }, icon(item.icon), h('span', { text: item.words }), item.key ? h('kbd', { text: item.key }) : null);
    const none = h('li', { class: 'palette-none', role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false', text: t('foundNothing') });
    this.list.replaceChildren(...(this.shown.length ? this.shown.map(option) : [none]));
    setAttr(this.input, 'aria-activedescendant', this.shown.length ? `palette-${this.at}` : null);
    this.list.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }

  choose(item) {
    if (!item) return;
    this.el.close();
    item.act();
  }

  onKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.shown.length) {
      event.preventDefault();
      this.at = (this.at + step + this.shown.length) % this.shown.length;
      this.render();
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault();
      this.choose(this.shown[this.at]);
    }
  }

  /** The list of shortcuts: `[[keys, words]]`. */
  showKeys(shortcuts) {
    const title = h('h2', { id: 'shortcuts-title', tabindex: '-1' });
    setText(title, t('shortcuts'));
    this.keys.replaceChildren(title,
      h('dl', { class: 'shortcuts' }, shortcuts.flatMap(([keys, words]) => [h('dt', null, h('kbd', { text: keys })), h('dd', { text: words })])),
      h('div', { class: 'answers' }, h('button', { type: 'button', class: 'answer', 'data-testid': 'shortcuts-close', text: t('close'), onclick: () => this.keys.close() })));
    this.keys.showModal();
    title.focus();
  }
}
