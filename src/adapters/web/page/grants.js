// Grants beyond a single call: the list, and revoking one. The model is DOM-free; the view is in a
// tab of the approvals panel.

import { api } from './api.js';
import { attempt, button, problemLine, problemWords, Rows } from './controls.js';
import { h, setText } from './dom.js';
import { moment, personName, t, until } from './strings.js';
import { Source } from './source.js';
import { threadHash } from './threads-view.js';

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

export class Grants extends Source {
  constructor(changed) {
    super(changed);
    this.list = [];
  }

  async load() {
    this.list = await api.grants();
  }

  /** Returns whether the grant still existed: it may have expired or been revoked elsewhere. */
  async revoke(id) {
    let held = true;
    try {
      await api.revokeGrant(id);
    } catch (error) {
      if (error.status !== 404) throw error;
      held = false;
    }
    this.list = this.list.filter((grant) => grant.id !== id);
    this.changed();
    this.refresh();
    return held;
  }
}

// The patterns it covers; none means every call of the tool.
function whatWords(grant) {
  const commands = Array.isArray(grant.commands) ? grant.commands : [];
  if (commands.length === 0) return [h('p', { class: 'grant-what', text: t('grantTool', { tool: grant.tool }) })];
  return commands.map((command) => h('p', { class: 'grant-what' }, h('code', { text: command })));
}

class GrantRow {
  constructor(grant, { threadTitle, revoke }) {
    this.threadTitle = threadTitle;
    this.problem = problemLine();
    this.thread = grant.threadId
      ? h('a', { class: 'question-thread', href: threadHash(grant.threadId), 'data-testid': 'grant-thread' })
      : null;
    this.reach = h('span', { 'data-testid': 'grant-reach' });
    this.facts = h('span');
    this.el = h('li', { class: 'entry', 'data-testid': 'grant', 'data-grant': grant.id },
      h('div', { class: 'entry-main' },
        h('div', { class: 'question-head' },
          h('span', { class: 'question-number', text: grant.id }),
          h('span', { class: 'question-tool', text: grant.tool })),
        ...whatWords(grant),
        h('p', { class: 'question-meta' }, this.reach, this.thread),
        h('p', { class: 'question-meta' }, this.facts)),
      button('revoke', t('revoke'), {
        testid: 'grant-revoke', described: t('revokeLabel', { number: grant.id }),
        onclick: () => attempt(this.el, this.problem, () => revoke(grant.id)),
      }),
      this.problem);
  }

  update(grant) {
    const ends = Date.parse(grant.expiresAt ?? '');
    const reach = t('reaches')[grant.scope] ?? String(grant.scope);
    setText(this.reach, Number.isFinite(ends) ? `${reach} · ${t('grantEnds', { when: until(ends), at: moment(grant.expiresAt) })}` : reach);
    if (this.thread) setText(this.thread, this.threadTitle(grant.threadId));
    const who = grant.grantedBy ? t('grantedBy', { who: personName(grant.grantedBy) }) : t('granted');
    const used = Number.isFinite(grant.uses) ? t('grantUsed', { count: grant.uses }) : '';
    setText(this.facts, [who, moment(grant.grantedAt), used].filter(Boolean).join(' · '));
  }
}

export class GrantsView {
  /** `threadTitle(threadId)` returns the title of a thread. */
  constructor(grants, { threadTitle }) {
    this.grants = grants;
    this.rows = new Rows($('grants-list'), (grant) => new GrantRow(grant, { threadTitle, revoke: (id) => this.revoke(id) }));
  }

  async revoke(id) {
    const held = await this.grants.revoke(id);
    setText($('grants-result'), t(held ? 'revoked' : 'revokedBefore', { number: id }));
    // The focused button was removed with its row.
    $('inbox-body').focus();
  }

  /** The list is opened: clears the result of the last action. */
  look() {
    setText($('grants-result'), '');
    this.grants.refresh();
  }

  reset() {
    setText($('grants-result'), '');
    this.rows.clear();
  }

  render() {
    this.rows.render(this.grants.list);
  }

  /** The text shown instead of a list, if any. */
  get note() {
    const { failed, list } = this.grants;
    if (failed) return problemWords(failed);
    return list.length === 0 ? t('grantsEmpty') : '';
  }
}
