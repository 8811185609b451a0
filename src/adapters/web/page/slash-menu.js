// The commands of the daemon, offered while a message begins with a slash.

import { h, setAttr } from './dom.js';
import { t } from './strings.js';

/** The commands whose name begins as the text does. */
export function commandsFor(text) {
  const typed = /^\/([a-z]*)$/.exec(text)?.[1];
  if (typed === undefined) return [];
  return Object.entries(t('commands')).filter(([name]) => name.startsWith(typed));
}

export class SlashMenu {
  /** `pick(name)` writes a command into the message box. */
  constructor(list, input, pick) {
    this.list = list;
    this.input = input;
    this.pick = pick;
    this.at = 0;
    this.shown = [];
  }

  get isOpen() {
    return this.shown.length > 0;
  }

  update(text) {
    this.shown = commandsFor(text);
    this.at = 0;
    this.render();
  }

  close() {
    this.shown = [];
    this.render();
  }

  render() {
    this.list.hidden = !this.isOpen;
    this.list.replaceChildren(...this.shown.map(([name, words], at) => h('li', {
      class: 'slash-item', role: 'option', id: `slash-${name}`, 'data-testid': 'slash-item', 'aria-selected': String(at === this.at),
      // Before the focus leaves the message box.
      onmousedown: (event) => {
        event.preventDefault();
        this.pick(name);
      },
    }, h('code', { text: `/${name}` }), h('span', { text: words }))));
    setAttr(this.input, 'aria-activedescendant', this.isOpen ? `slash-${this.shown[this.at][0]}` : null);
  }

  /** Returns whether the key was for the menu. */
  onKey(event) {
    if (!this.isOpen) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.at = (this.at + step + this.shown.length) % this.shown.length;
      this.render();
    } else if (event.key === 'Tab' || (event.key === 'Enter' && `/${this.shown[this.at][0]}` !== this.input.value)) this.pick(this.shown[this.at][0]);
    else if (event.key === 'Escape') this.close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
}
