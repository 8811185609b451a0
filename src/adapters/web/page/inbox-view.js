// The approvals panel: pending approvals of all threads, decided ones, and grants.

import { AnswerView, outcomeWords, riskChip, scopeWords } from './answer-view.js';
import { api } from './api.js';
import { AskFirst, attempt, problemLine, problemWords } from './controls.js';
import { h, icon, setAttr, setText } from './dom.js';
import { GrantsView } from './grants.js';
import { renderMarkdown } from './markdown.js';
import { Panel } from './panel.js';
import { age, channelName, moment, personName, t, until } from './strings.js';
import { channelOf } from './thread.js';
import { threadHash } from './threads-view.js';

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

const OUTCOME_ICONS = { approved: 'ok', spent: 'ok', denied: 'denied', expired: 'waiting', cancelled: 'halted' };

function details(text) {
  const el = h('div', { class: 'question-details md' });
  renderMarkdown(el, String(text ?? ''));
  return el;
}

/** A pending approval. Keeps its elements: a chosen scope must survive a refresh. */
class PendingCard {
  constructor(approval, { threadTitle, decided }) {
    this.threadTitle = threadTitle;
    const unknown = approval.kind === 'unknown-outcome';
    this.thread = h('a', { class: 'question-thread', href: threadHash(approval.threadId), 'data-testid': 'inbox-thread' });
    this.when = h('span');
    this.answer = new AnswerView({ id: approval.id, tool: approval.tool, kind: approval.kind, scopes: approval.scopes }, { decided, trouble: decided });
    this.el = h('li', { class: 'question', 'data-testid': 'inbox-item', 'data-approval-id': approval.id },
      h('div', { class: 'question-head' },
        h('span', { class: 'question-number', text: approval.number }),
        h('span', { class: 'question-tool', text: approval.tool }),
        riskChip(approval.risk)),
      h('p', { class: 'question-summary', 'data-testid': 'inbox-summary', text: approval.summary }),
      unknown ? h('p', { class: 'question-note', text: t('unknownOutcome') }) : null,
      approval.details ? details(approval.details) : null,
      h('p', { class: 'question-meta' }, this.thread, this.when),
      this.answer.el);
    this.update(approval);
  }

  update(approval) {
    setText(this.thread, this.threadTitle(approval.threadId));
    const asked = t('askedBy', { who: personName(approval.requestedBy), age: age(Date.parse(approval.createdAt)) });
    setText(this.when, [asked, t('expires', { when: until(Date.parse(approval.expiresAt)) })].join(' · '));
  }
}

function historyRow(approval, threadTitle) {
  const facts = [
    moment(approval.decidedAt),
    approval.via ? t('via')[approval.via] ?? approval.via : '',
    scopeWords(approval.scope),
    approval.reason ? t('approvalReason', { reason: approval.reason }) : '',
  ].filter(Boolean).join(' · ');
  return h('li', { class: 'decided', 'data-testid': 'history-item', 'data-state': approval.state },
    h('details', null,
      h('summary', null,
        icon(OUTCOME_ICONS[approval.state] ?? 'ok'),
        h('span', { class: 'question-number', text: approval.number }),
        h('span', { class: 'decided-summary', text: approval.summary }),
        riskChip(approval.risk),
        icon('chevron')),
      approval.details ? details(approval.details) : null,
      h('p', { class: 'question-meta' },
        h('a', { class: 'question-thread', href: threadHash(approval.threadId), text: threadTitle(approval.threadId) }),
        h('span', { text: t('askedBy', { who: personName(approval.requestedBy), age: age(Date.parse(approval.createdAt)) }) }))),
    h('p', { class: 'decided-outcome' }, h('strong', { text: outcomeWords(approval) }), facts ? ` · ${facts}` : ''));
}

export class InboxView {
  /** `titleOf(threadId)` returns the sidebar's title of a thread, if it has one. */
  constructor(inbox, grants, { titleOf }) {
    this.inbox = inbox;
    this.titleOf = titleOf;
    this.cards = new Map();
    this.tab = 'pending';
    this.panel = new Panel('inbox', () => this.show('pending'));
    this.grants = new GrantsView(grants, { threadTitle: this.threadTitle });
    this.buildAll();
    for (const tab of this.tabs()) tab.addEventListener('click', () => this.show(tab.dataset.tab));
    $('inbox-tabs').addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const tabs = this.tabs();
      const at = tabs.findIndex((tab) => tab.dataset.tab === this.tab);
      const next = tabs.at((at + step) % tabs.length);
      this.show(next.dataset.tab);
      next.focus();
    });
  }

  // Everything that is listed, each once; asked first, since it is more than one look can judge. What arrives after
  // the first press waits for another one.
  buildAll() {
    this.allProblem = problemLine();
    this.allProblem.dataset.testid = 'approve-all-problem';
    let chosen = [];
    this.all = new AskFirst('approve-all', {
      label: t('approveAll'), question: '', yes: t('approveAll'), no: t('cancel'),
    }, () => {
      this.all.back();
      return attempt(this.all.el, this.allProblem, async () => {
        for (const id of chosen) await api.decide(id, 'approve').catch((error) => error.status === 409 || Promise.reject(error));
        await this.inbox.refresh();
      });
    }, () => {
      // What was cut off is for a person to judge, one by one.
      const asked = this.inbox.pending.filter(({ id, kind }) => kind !== 'unknown-outcome' && kind !== 'budget' && this.cards.has(id));
      chosen = asked.map(({ id }) => id);
      return t('approveAllAsk', { count: asked.length, numbers: asked.map(({ number }) => number).join(', ') });
    });
    $('inbox-all').replaceChildren(this.all.el, this.allProblem);
  }

  get isOpen() {
    return this.panel.isOpen;
  }

  get showsGrants() {
    return this.isOpen && this.tab === 'grants';
  }

  close() {
    this.panel.close();
  }

  tabs() {
    return [...$('inbox-tabs').children];
  }

  show(tab) {
    this.tab = tab;
    for (const el of this.tabs()) {
      setAttr(el, 'aria-selected', String(el.dataset.tab === tab));
      setAttr(el, 'tabindex', el.dataset.tab === tab ? '0' : '-1');
    }
    setAttr($('inbox-body'), 'aria-labelledby', `inbox-tab-${tab}`);
    this.inbox.want(tab === 'history');
    if (tab === 'grants') this.grants.look();
    this.render();
  }

  /** Rebuilds everything, for another language. */
  reset() {
    this.cards.clear();
    this.buildAll();
    $('inbox-pending').replaceChildren();
    this.shownHistory = null;
    this.grants.reset();
    this.render();
  }

  threadTitle = (threadId) => {
    const channel = channelOf(threadId);
    const title = this.titleOf(threadId) || threadId.split(':').slice(2).join(':');
    return channel === 'web' ? title : `${channelName(channel).replace(/^the /, '')} · ${title}`;
  };

  render() {
    const { count, pending, failed } = this.inbox;
    this.panel.renderCount(count, t('inboxLabel', { count }));
    setText($('inbox-tab-count'), count ? String(count) : '');
    if (!this.isOpen) return;
    for (const tab of this.tabs()) $(`inbox-${tab.dataset.tab}`).hidden = tab.dataset.tab !== this.tab;
    $('inbox-all').hidden = this.tab !== 'pending' || pending.length < 2;
    if (this.tab === 'pending') this.renderPending(pending);
    else if (this.tab === 'history') this.renderHistory();
    else this.grants.render();
    const words = this.tab === 'grants' ? this.grants.note : failed ? problemWords(failed) : this.emptyWords();
    $('inbox-note').hidden = words === '';
    setText($('inbox-note'), words);
  }

  emptyWords() {
    if (this.tab === 'history') return this.inbox.history.length ? '' : t('historyEmpty');
    return this.inbox.pending.length ? '' : t('inboxEmpty');
  }

  renderPending(pending) {
    const list = $('inbox-pending');
    const alive = new Set(pending.map((approval) => approval.id));
    for (const [id, card] of this.cards) {
      // Decided elsewhere: the outcome stays readable while the panel is open.
      if (alive.has(id) || !card.answer.problem.hidden) continue;
      card.el.remove();
      this.cards.delete(id);
    }
    for (const approval of pending) {
      let card = this.cards.get(approval.id);
      if (!card) {
        card = new PendingCard(approval, { threadTitle: this.threadTitle, decided: () => this.inbox.refresh() });
        this.cards.set(approval.id, card);
        list.append(card.el);
      } else card.update(approval);
    }
  }

  renderHistory() {
    const key = JSON.stringify(this.inbox.history);
    if (key === this.shownHistory) return;
    this.shownHistory = key;
    $('inbox-history').replaceChildren(...this.inbox.history.map((approval) => historyRow(approval, this.threadTitle)));
  }
}
