// Shared by the lists of grants and of people: buttons that send a change to the daemon, the error
// message beside them, and rows that keep their state.

import { h, setAttr, setText } from './dom.js';
import { t } from './strings.js';

/** The text of an error. */
export const problemWords = (error) => error.message || t('offline');

/** @param {string} name @param {string} label @param {{testid: string, described?: string, onclick?: any}} options */
export function button(name, label, { testid, described, ...listeners }) {
  return h('button', {
    type: 'button', class: `answer answer-${name}`, 'data-testid': testid, 'aria-label': described, text: label, ...listeners,
  });
}

export const problemLine = () => h('p', { class: 'answer-problem', role: 'alert', 'data-testid': 'answer-problem', hidden: true });

/**
 * Runs an action: disables `el`'s controls meanwhile, and shows an error in `problem`. Returns
 * whether it succeeded.
 */
export async function attempt(el, problem, act) {
  const controls = [...el.querySelectorAll('button, select, input, textarea')].filter((control) => !control.disabled);
  const focused = document.activeElement;
  for (const control of controls) control.disabled = true;
  problem.hidden = true;
  try {
    await act();
    return true;
  } catch (error) {
    setText(problem, problemWords(error));
    problem.hidden = false;
    return false;
  } finally {
    for (const control of controls) control.disabled = false;
    // A control that rests loses the focus, and the person their place.
    if (focused instanceof HTMLElement && controls.includes(focused) && focused.isConnected) focused.focus();
  }
}

/** A button that asks for confirmation in its place. */
export class AskFirst {
  /**
   * `act()` runs after a yes; `asked()` when the question opens, and returns its words where they are not fixed.
   * @param {string} name
   * @param {{label: string, described?: string, question: string, yes: string, no: string}} words
   * @param {() => void} act
   * @param {() => string} [asked]
   */
  constructor(name, words, act, asked) {
    this.ask = button(name, words.label, {
      testid: name, described: words.described,
      onclick: () => {
        if (asked) setText(this.question, asked());
        setAttr(this.asking, 'aria-label', this.question.textContent);
        this.ask.hidden = true;
        this.asking.hidden = false;
        this.no.focus();
      },
    });
    this.no = button('keep', words.no, { testid: `${name}-no`, onclick: () => this.back() });
    this.question = h('p', { text: words.question, 'data-testid': `${name}-question` });
    this.asking = h('div', {
      class: 'asking-first', role: 'group', hidden: true,
      // Escape closes the confirmation, not the whole panel.
      onkeydown: (event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        this.back();
      },
    },
    this.question,
    h('div', { class: 'answers' }, button(name, words.yes, { testid: `${name}-yes`, onclick: act }), this.no));
    this.el = h('div', { class: 'ask-first' }, this.ask, this.asking);
  }

  /** Closes the confirmation. */
  back() {
    this.asking.hidden = true;
    this.ask.hidden = false;
    this.ask.focus();
  }
}

/** One row per item, kept by its id: an unsaved choice survives a refresh. */
export class Rows {
  /** `make(item)` returns `{el, update(item)}`. */
  constructor(list, make) {
    this.list = list;
    this.make = make;
    this.rows = new Map();
  }

  render(items) {
    const alive = new Set(items.map((item) => item.id));
    for (const [id, row] of this.rows) {
      if (alive.has(id)) continue;
      row.el.remove();
      this.rows.delete(id);
    }
    for (const item of items) {
      let row = this.rows.get(item.id);
      if (!row) {
        row = this.make(item);
        this.rows.set(item.id, row);
        this.list.append(row.el);
      }
      row.update(item);
    }
  }

  /** Rebuilds everything, for another language. */
  clear() {
    this.rows.clear();
    this.list.replaceChildren();
  }
}
