// The file of a task in an editor with line numbers. While it is typed, the daemon says what it
// would mean, or which line has a mistake.

import { api } from './api.js';
import { attempt, button, problemLine, problemWords } from './controls.js';
import { h, setAttr, setText } from './dom.js';
import { t } from './strings.js';
import { mistakeOf } from './tasks.js';

const CHECK_AFTER_MS = 300;
const FEWEST_LINES = 10;

// Unsaved texts by task, kept while the page is open.
const drafts = new Map();

export class TaskEditor {
  /** `save(file, before)` writes the file; `task`: `{id, file, fresh?}`. */
  constructor({ id, file, fresh = false }, save) {
    this.id = id;
    this.fresh = fresh;
    /** The text that the daemon has. */
    this.before = file;
    /** The newest text of the daemon, which another editor may have written. */
    this.current = file;
    this.asked = 0;
    this.numbers = h('div', { class: 'line-numbers', 'aria-hidden': 'true' });
    this.area = h('textarea', {
      class: 'code-area', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', wrap: 'off',
      'aria-label': t('taskFile'), 'aria-describedby': 'task-meaning', 'data-testid': 'task-file', oninput: () => this.typed(),
    });
    this.meaning = h('div', { class: 'task-meaning', id: 'task-meaning', role: 'status', 'data-testid': 'task-meaning' });
    this.problem = problemLine();
    this.saveButton = button('approve', t('save'), { testid: 'task-save', onclick: () => this.save(save) });
    this.discard = button('keep', t('discard'), {
      testid: 'task-discard',
      onclick: () => {
        this.before = this.current;
        this.area.value = this.current;
        this.typed();
        this.area.focus();
      },
    });
    this.el = h('div', { class: 'editor' },
      h('div', { class: 'code-edit' }, this.numbers, this.area),
      this.meaning,
      h('div', { class: 'answers' }, this.saveButton, this.discard),
      this.problem);
    this.area.value = drafts.get(id) ?? file;
    this.area.addEventListener('scroll', () => {
      this.numbers.scrollTop = this.area.scrollTop;
    });
    this.typed();
  }

  get changed() {
    return this.area.value !== this.before;
  }

  typed() {
    if (this.changed) drafts.set(this.id, this.area.value);
    else drafts.delete(this.id);
    const count = this.area.value.split('\n').length;
    this.area.rows = Math.max(FEWEST_LINES, count + 1);
    if (this.numbers.childElementCount !== count) {
      this.numbers.replaceChildren(...Array.from({ length: count }, (_, at) => h('span', { text: String(at + 1) })));
    }
    this.renderButtons();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), CHECK_AFTER_MS);
  }

  async check() {
    const file = this.area.value;
    const asked = ++this.asked;
    let preview = null;
    let error = null;
    try {
      preview = await api.checkTask(file);
    } catch (refused) {
      error = refused;
    }
    // A later text was sent meanwhile.
    if (asked !== this.asked || !this.el.isConnected) return;
    this.wrong = error?.status === 422;
    if (error && !this.wrong) this.meaning.replaceChildren(h('p', { class: 'answer-problem', text: problemWords(error) }));
    else if (error) this.renderMistake(mistakeOf(error));
    else this.renderMeaning(preview);
    if (!error) this.mark(null);
    this.renderButtons();
  }

  renderMistake({ line, message }) {
    this.mark(line);
    this.meaning.replaceChildren(h('p', { class: 'answer-problem', 'data-testid': 'task-line-mistake' },
      line
        ? h('button', { type: 'button', class: 'line-link', text: t('taskLine', { line }), onclick: () => this.goTo(line) })
        : null,
      h('span', { text: message })));
  }

  renderMeaning(preview) {
    const { schedule, timezone, next = [], unknownKeys = [], past } = preview ?? {};
    this.meaning.replaceChildren(h('div', null,
      h('p', null, h('strong', { text: [schedule, timezone].filter(Boolean).join(' · ') })),
      next.length ? h('ul', { class: 'next-times', 'aria-label': t('taskNextTimes') }, next.map((at) => h('li', { text: at }))) : null,
      past ? h('p', { class: 'answer-problem', text: t('taskPast') }) : null,
      unknownKeys.length ? h('p', { class: 'answer-problem', text: t('taskUnknownKeys', { keys: unknownKeys.join(', ') }) }) : null));
  }

  mark(line) {
    setAttr(this.area, 'aria-invalid', this.wrong ? 'true' : null);
    [...this.numbers.children].forEach((el, at) => el.classList.toggle('wrong', at + 1 === line));
  }

  goTo(line) {
    const lines = this.area.value.split('\n');
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  }

  renderButtons() {
    this.saveButton.disabled = (!this.changed && !this.fresh) || this.wrong === true;
    this.discard.hidden = !this.changed;
  }

  async save(save) {
    const file = this.area.value;
    const saved = await attempt(this.el, this.problem, () => save(file, this.fresh ? undefined : this.before));
    if (saved && !this.fresh) this.update(file);
    this.renderButtons();
  }

  /** The daemon's text; an unsaved one stays, and is compared with it when it is saved. */
  update(file) {
    this.current = file;
    if (file === this.before) return;
    const untouched = !this.changed;
    // With unsaved changes `before` stays the version that they were made for.
    if (untouched || this.area.value === file) {
      this.before = file;
      this.area.value = file;
      this.typed();
      setText(this.problem, '');
    }
  }

  forget() {
    drafts.delete(this.id);
  }
}
