// A panel at the side of the page, the button that opens it, and its count. A native dialog, so
// that focus and Escape work by themselves.

import { setAttr, setText } from './dom.js';

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

export class Panel {
  /** The elements are `name`, `name-open`, `name-close` and `name-count`. */
  constructor(name, opened) {
    this.el = $(name);
    this.button = $(`${name}-open`);
    this.count = $(`${name}-count`);
    this.opened = opened;
    this.button.addEventListener('click', () => this.open());
    $(`${name}-close`).addEventListener('click', () => this.close());
    // A click beside the panel hits the dialog itself; a link to a thread leaves it.
    this.el.addEventListener('click', (event) => {
      if (event.target === this.el || /** @type {Element} */ (event.target).closest('a[href^="#/t/"]')) this.close();
    });
  }

  get isOpen() {
    return this.el.open;
  }

  open() {
    if (!this.isOpen) this.el.showModal();
    this.opened();
  }

  close() {
    this.el.close();
  }

  /** Shows the count on the button, with `label` as its accessible name. */
  renderCount(count, label) {
    setAttr(this.button, 'data-count', String(count));
    setAttr(this.button, 'aria-label', label);
    setAttr(this.button, 'title', label);
    setText(this.count, count > 99 ? '99+' : String(count));
    this.count.hidden = count === 0;
  }
}
