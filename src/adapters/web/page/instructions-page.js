// The page of Agent.md: an editor with a preview, and the texts that were replaced.

import { api } from './api.js';
import { attempt, button, problemLine, problemWords } from './controls.js';
import { h, setAttr, setText } from './dom.js';
import { renderMarkdown } from './markdown.js';
import { moment, personName, t } from './strings.js';

const FEWEST_LINES = 14;

// The unsaved text, kept while the page is open: `{before, text}`.
let draft = null;

export class InstructionsPage {
  constructor(body) {
    /** The text that is edited, as the daemon has it. */
    this.before = null;
    this.problem = problemLine();
    this.result = h('p', { class: 'panel-result', role: 'status', 'data-testid': 'instructions-result' });
    this.area = h('textarea', {
      class: 'code-area', spellcheck: 'true', 'aria-label': t('instructionsText'), 'data-testid': 'instructions-text', oninput: () => this.typed(),
    });
    this.preview = h('div', { class: 'prose instructions-preview', 'data-testid': 'instructions-preview', tabindex: '0', role: 'region', 'aria-label': t('instructionsPreview'), hidden: true });
    this.editor = h('div', { class: 'code-edit' }, this.area);
    this.tabs = [['write', t('instructionsWrite')], ['preview', t('instructionsPreview')]].map(([name, label]) => h('button',
      { type: 'button', class: 'panel-tab', 'aria-pressed': 'false', 'data-tab': name, 'data-testid': `instructions-${name}-tab`, onclick: () => this.choose(name) }, h('b', { text: label })));
    this.saveButton = button('approve', t('save'), { testid: 'instructions-save', onclick: () => this.save() });
    this.discard = button('keep', t('discard'), { testid: 'instructions-discard', onclick: () => this.put(this.before) });
    this.versions = h('ul', { class: 'panel-list' });
    this.none = h('p', { class: 'panel-none', text: t('instructionsHistoryEmpty') });
    this.el = h('div', null,
      h('p', { class: 'panel-about', text: t('instructionsAbout') }),
      h('div', { class: 'panel-tabs' }, this.tabs), this.editor, this.preview,
      h('div', { class: 'answers instructions-deeds' }, this.saveButton, this.discard), this.problem, this.result,
      h('section', { class: 'panel-section' }, h('h3', { text: t('instructionsHistory') }), this.versions, this.none));
    body.append(this.el);
    this.choose('write');
    this.typed();
  }

  async show() {
    try {
      this.take(await api.instructions());
    } catch (error) {
      this.problem.hidden = false;
      setText(this.problem, problemWords(error));
    }
  }

  take({ text, versions }) {
    const kept = draft?.before === text ? draft.text : null;
    this.before = text;
    this.put(kept ?? text);
    this.none.hidden = versions.length > 0;
    this.versions.replaceChildren(...versions.map((version) => this.row(version)));
  }

  row({ id, replacedAt, replacedBy, characters }) {
    const when = moment(replacedAt);
    const problem = problemLine();
    const el = h('li', { class: 'entry', 'data-testid': 'instructions-version' },
      h('div', { class: 'entry-main' }, h('strong', { text: when }),
        h('p', { class: 'question-meta' }, h('span', { text: t('instructionsReplaced', { who: personName(replacedBy) }) }), h('span', { text: t('instructionsCharacters', { count: characters }) }))),
      button('keep', t('instructionsRestore'), {
        testid: 'instructions-restore', described: t('instructionsRestoreLabel', { when }),
        onclick: () => attempt(el, problem, async () => {
          const { text } = await api.instructionsVersion(id);
          this.put(text);
          this.choose('write');
          setText(this.result, t('instructionsRestored'));
        }),
      }), problem);
    return el;
  }

  put(text) {
    this.area.value = text ?? '';
    this.typed();
  }

  typed() {
    const text = this.area.value;
    const changed = this.before !== null && text !== this.before;
    draft = changed ? { before: this.before, text } : null;
    this.area.rows = Math.max(FEWEST_LINES, text.split('\n').length + 1);
    this.saveButton.disabled = !changed;
    this.discard.hidden = !changed;
    if (!this.preview.hidden) this.renderPreview();
  }

  choose(name) {
    const previewing = name === 'preview';
    this.editor.hidden = previewing;
    this.preview.hidden = !previewing;
    for (const tab of this.tabs) setAttr(tab, 'aria-pressed', String(tab.dataset.tab === name));
    if (previewing) this.renderPreview();
  }

  renderPreview() {
    this.preview.replaceChildren();
    renderMarkdown(this.preview, this.area.value);
  }

  async save() {
    setText(this.result, '');
    const text = this.area.value;
    const saved = await attempt(this.el, this.problem, async () => {
      const written = await api.writeInstructions(text, this.before);
      draft = null;
      this.take(written);
    });
    if (saved) setText(this.result, t('instructionsSaved'));
    this.typed();
  }
}
