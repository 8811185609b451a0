// The page of memory: search over memory and conversations, and per scope what is remembered, its
// notes and its changes; the checkpoints of the newest conversations.

import { AskFirst, attempt, button, problemLine, problemWords, Rows } from './controls.js';
import { h, icon, setAttr, setText } from './dom.js';
import { Memory, undoable } from './memory.js';
import { MemorySearch } from './memory-search.js';
import { channelName, moment, personName, t } from './strings.js';
import { threadHash } from './threads-view.js';

const scopeHash = (scope) => `#/memory/${encodeURIComponent(scope).replaceAll('%3A', ':')}`;

/** A scope in words: a person, a group, everybody. */
export function scopeName(scope) {
  if (t('memoryScopes')[scope]) return t('memoryScopes')[scope];
  const [kind, ...rest] = scope.split(':');
  if (kind === 'peer') return rest.join(':');
  if (kind === 'group') return t('memoryGroup', { id: rest.slice(2).join(':'), place: channelName(rest[0]).replace(/^the /, '') });
  return personName(scope);
}

const at = (time) => moment(typeof time === 'number' ? new Date(time).toISOString() : time);

/** One item of core memory or one note, which can be forgotten. */
class ItemRow {
  constructor(item, forget) {
    this.problem = problemLine();
    this.text = h('p', { class: 'memory-text' });
    this.facts = h('p', { class: 'question-meta' });
    const ask = new AskFirst('forget', {
      label: t('forget'), described: t('forgetLabel', { text: item.text.slice(0, 60) }), question: t('forgetAsk'), yes: t('forget'), no: t('keep'),
    }, () => attempt(this.el, this.problem, () => forget(item)));
    this.el = h('li', { class: 'entry', 'data-testid': 'memory-item' },
      h('div', { class: 'entry-main' }, this.text, this.facts), h('div', { class: 'entry-deeds' }, ask.el), this.problem);
  }

  update(item) {
    setText(this.text, item.text);
    setText(this.facts, [item.author ?? '', at(item.at), item.byHand ? t('memoryByHand') : '', item.reviewed ? '' : t('memoryUnreviewed')].filter(Boolean).join(' · '));
  }
}

/** A change in the ledger: what was there before and after. */
function ledgerRow(line) {
  const who = line.by ? personName(line.by) : t('memoryByHand');
  const side = (name, mark, text) => (text ? h('p', { class: `memory-${name}` }, h('span', { 'aria-hidden': 'true', text: mark }), h('span', { class: 'visually-hidden', text: t(name === 'before' ? 'memoryBefore' : 'memoryAfter') }), h('span', { text })) : null);
  return h('li', { class: 'entry', 'data-testid': 'ledger-line', 'data-op': line.op },
    h('div', { class: 'entry-main' },
      h('p', { class: 'question-meta' },
        h('strong', { text: line.undoes === undefined ? t('memoryOps')[line.op] ?? line.op : t('memoryUndid', { seq: line.seq }) }),
        h('span', { text: t('memoryTiers')[line.tier] ?? line.tier }),
        h('span', { text: who }),
        h('span', { text: at(line.at) }),
        line.thread ? h('a', { class: 'question-thread', href: threadHash(line.thread), text: t('taskThread') }) : null),
      side('before', '−', line.before),
      side('after', '+', line.after),
      !line.before && !line.after && line.op !== 'edit' ? h('p', { class: 'panel-none', text: t('memoryTextGone') }) : null));
}

function checkpointRow(checkpoint) {
  const { threadId, title, messages, observations = [], open = [] } = checkpoint;
  return h('li', { class: 'entry', 'data-testid': 'checkpoint-row' },
    h('details', { class: 'entry-main checkpoint' },
      h('summary', null, icon('chevron'), h('span', { text: t('checkpoint', { count: messages }) })),
      h('ul', { class: 'reasoning-text' },
        observations.map((seen) => h('li', { text: `${at(seen.at)} ${seen.who}: ${seen.text}` })),
        open.map((asked) => h('li', { text: `${t('checkpointOpen')} ${asked.text}` })))),
    h('p', { class: 'question-meta' },
      h('a', { class: 'question-thread', href: threadHash(threadId), text: title || t('untitled') }),
      h('span', { text: [at(checkpoint.at), t('checkpointReasons')[checkpoint.reason] ?? ''].filter(Boolean).join(' · ') })));
}

function section(name, title, ...children) {
  return h('section', { class: 'panel-section', 'aria-labelledby': `${name}-title` }, h('h3', { id: `${name}-title`, text: title }), ...children);
}

const moreButton = (testid, act) => h('button', { type: 'button', class: 'quiet-button', 'data-testid': testid, text: t('showMore'), hidden: true, onclick: act });

export class MemoryPage {
  constructor(body) {
    this.memory = new Memory(() => this.render());
    const forget = (tier) => (item) => this.change({ action: 'forget', id: item.id, tier }, t('forgotten'));
    /** What the lists show, by their names. */
    this.keys = {};
    this.result = h('p', { class: 'panel-result', role: 'status', 'data-testid': 'memory-result' });
    this.failed = h('p', { class: 'panel-alarm', role: 'alert', 'data-testid': 'memory-failed', hidden: true });
    this.search = new MemorySearch();
    this.scopes = h('ul', { class: 'chips' });
    this.core = new Rows(h('ul', { class: 'panel-list' }), (item) => new ItemRow(item, forget('core')));
    this.coreNone = h('p', { class: 'panel-none', text: t('memoryCoreEmpty') });
    this.size = h('p', { class: 'question-meta' });
    this.notes = new Rows(h('ul', { class: 'panel-list' }), (item) => new ItemRow(item, forget('notes')));
    this.notesNone = h('p', { class: 'panel-none', text: t('memoryNotesEmpty') });
    this.notesMore = moreButton('notes-more', () => this.memory.loadEarlierNotes());
    this.ledger = h('ul', { class: 'panel-list' });
    this.ledgerNone = h('p', { class: 'panel-none', text: t('memoryLedgerEmpty') });
    this.ledgerMore = moreButton('ledger-more', () => this.memory.loadEarlierLines());
    this.damaged = h('p', { class: 'panel-alarm', hidden: true });
    this.undoProblem = problemLine();
    this.undo = new AskFirst('undo', {
      label: t('memoryUndo'), question: t('memoryUndoAsk'), yes: t('memoryUndo'), no: t('keep'),
    }, async () => {
      this.undo.back();
      await attempt(this.undo.el, this.undoProblem, () => this.change({ action: 'undo' }, t('memoryUndone')));
    });
    this.checkpoints = h('ul', { class: 'panel-list' });
    this.checkpointsNone = h('p', { class: 'panel-none', text: t('checkpointsEmpty'), hidden: true });
    body.append(
      h('p', { class: 'panel-about', text: t('memoryAbout') }),
      this.search.el,
      h('nav', { 'aria-label': t('memoryScope') }, this.scopes),
      this.result, this.failed,
      section('memory-core', t('memoryCore'), this.size, this.core.list, this.coreNone, this.buildEditor()),
      section('memory-notes', t('memoryNotes'), this.notes.list, this.notesNone, this.notesMore),
      section('memory-ledger', t('memoryLedger'), this.undo.el, this.undoProblem, this.damaged, this.ledger, this.ledgerNone, this.ledgerMore),
      section('memory-checkpoints', t('checkpoints'), h('p', { class: 'panel-about', text: t('checkpointsAbout') }), this.checkpoints, this.checkpointsNone));
  }

  buildEditor() {
    this.area = h('textarea', { class: 'code-area', rows: 12, spellcheck: 'false', 'aria-label': t('memoryEditLabel'), 'data-testid': 'memory-text' });
    this.editProblem = problemLine();
    const save = button('approve', t('save'), {
      testid: 'memory-save',
      onclick: () => attempt(this.editor, this.editProblem, async () => {
        await this.change({ action: 'edit', text: this.area.value, digest: this.editing }, t('memorySaved'));
        this.editor.open = false;
      }),
    });
    this.editor = h('details', {
      class: 'memory-editor', 'data-testid': 'memory-editor',
      ontoggle: () => {
        if (!this.editor.open) return;
        this.area.value = this.memory.shown?.text ?? '';
        /** The version that is edited; the daemon refuses the change of any other. */
        this.editing = this.memory.shown?.digest;
        this.editProblem.hidden = true;
      },
    }, h('summary', null, icon('chevron'), h('span', { text: t('memoryEdit') })), h('div', { class: 'code-edit' }, this.area), h('div', { class: 'answers' }, save), this.editProblem);
    return this.editor;
  }

  async change(body, words) {
    await this.memory.change(body);
    setText(this.result, words);
  }

  show(scope) {
    setText(this.result, '');
    this.editor.open = false;
    this.core.clear();
    this.notes.clear();
    this.memory.look(scope || 'project');
    this.render();
  }

  render() {
    const { failed, scopes, scope, shown, lines } = this.memory;
    this.failed.hidden = !failed;
    setText(this.failed, failed ? problemWords(failed) : '');
    this.renderScopes(scopes ?? ['project'], scope);
    const items = shown?.items ?? [];
    this.core.render(items);
    this.coreNone.hidden = !shown || items.length > 0;
    setText(this.size, shown ? [t('memoryTokens', { used: shown.tokens, most: shown.mostTokens }), shown.file].join(' · ') : '');
    this.editor.hidden = !shown || shown.isText === false || shown.cut === true;
    const notes = [...(shown?.notes ?? []), ...this.memory.earlier];
    this.notes.render(notes);
    this.notesNone.hidden = !shown || notes.length > 0;
    this.notesMore.hidden = !this.memory.nextMonth;
    this.undo.el.hidden = undoable(lines) === null;
    this.damaged.hidden = !this.memory.damaged;
    setText(this.damaged, this.memory.damaged ? t('memoryDamaged', { count: this.memory.damaged }) : '');
    this.renderList('ledger', lines, ledgerRow);
    this.ledgerNone.hidden = !shown || lines.length > 0;
    this.ledgerMore.hidden = !this.memory.moreLines;
    this.renderList('checkpoints', this.memory.checkpoints ?? [], checkpointRow);
    this.checkpointsNone.hidden = this.memory.checkpoints === null || this.memory.checkpoints.length > 0;
  }

  // Rebuilt only on a change, so that what is opened stays open.
  renderList(name, items, row) {
    const key = JSON.stringify(items);
    if (this.keys[name] === key) return;
    this.keys[name] = key;
    this[name].replaceChildren(...items.map(row));
  }

  renderScopes(scopes, current) {
    const all = scopes.includes(current) ? scopes : [current, ...scopes];
    const key = JSON.stringify([all, current]);
    if (this.shownScopes !== key) {
      this.shownScopes = key;
      const focused = this.scopes.contains(document.activeElement);
      this.scopes.replaceChildren(...all.map((scope) => {
        const link = h('a', { class: 'scope-chip', href: scopeHash(scope), 'data-testid': 'memory-scope', 'data-scope': scope, title: scope, text: scopeName(scope) });
        setAttr(link, 'aria-current', scope === current ? 'true' : null);
        return h('li', null, link);
      }));
      if (focused) this.scopes.querySelector('[aria-current]')?.focus();
    }
  }
}
