// The buttons that decide an approval, wherever it is shown, with the scope of a yes beside them.
// Only the daemon knows which decision was first.

import { api } from './api.js';
import { h } from './dom.js';
import { personName, t } from './strings.js';

// The request value of each choice.
const SCOPES = {
  once: 'once',
  thread: 'thread',
  minutes10: { type: 'minutes', minutes: 10 },
  minutes60: { type: 'minutes', minutes: 60 },
  shape: 'shape',
  project: 'project',
};

// How a spend cap can be raised.
const RAISES = ['plus-one', 'plus-five', 'midnight'];

const SHELL = 'exec_shell';

const kindOf = (name) => (name.startsWith('minutes') ? 'minutes' : name);

/** The choices for a question: those that the daemon says can hold. */
export function scopesOf({ tool, scopes }) {
  const names = Object.keys(SCOPES);
  if (Array.isArray(scopes)) return names.filter((name) => name === 'once' || scopes.includes(kindOf(name)));
  // Only a command has a shape; for another tool it would mean the whole project.
  return names.filter((name) => name !== 'shape' || tool === SHELL);
}

/** The risk of a call, as a chip; nothing where it is not known. */
export function riskChip(risk) {
  if (!risk) return null;
  return h('span', { class: 'risk', 'data-risk': risk, 'data-testid': 'risk', text: t('risks')[risk] ?? String(risk) });
}

/** The scope of an approval as text. */
export function scopeWords(scope) {
  if (!scope || scope.type === 'once') return '';
  if (scope.type === 'minutes' || scope.type === 'program') return t('scopeMinutes', { count: scope.minutes });
  return t('scopes')[scope.type] ?? scope.type;
}

/** The outcome of an approval as text: what, by whom, scope, reason. */
export function outcomeWords(approval) {
  const who = approval.decidedBy ? personName(approval.decidedBy) : '';
  const key = { approved: 'wasApproved', spent: 'wasApproved', denied: 'wasDenied', expired: 'wasExpired', cancelled: 'wasCancelled' }[approval.state];
  return key ? t(key, { who }) : '';
}

// Another person decided first: names them, in the reader's language if the approval can be
// fetched.
async function conflictWords(id, error) {
  const known = (await api.approvals().catch(() => [])).find((approval) => approval.id === id);
  const words = known ? outcomeWords(known) : '';
  return words ? t('alreadyDecided', { number: known.number, what: words }) : error.message;
}

export class AnswerView {
  /**
   * `question`: `{id, tool, kind, scopes, short}`; `short` offers yes and no alone. `decided(approval)` is called with what
   * the daemon made of an answer, `trouble()` when it took none.
   * @param {any} question
   * @param {{decided?: (approval: any) => void, trouble?: () => void}} [handlers]
   */
  constructor(question, { decided, trouble } = {}) {
    this.question = question;
    this.decided = decided ?? (() => {});
    this.trouble = trouble ?? (() => {});
    this.problem = h('p', { class: 'answer-problem', role: 'alert', 'data-testid': 'answer-problem', hidden: true });
    this.row = h('div', { class: 'answers', role: 'group', 'aria-label': t('answersLabel'), 'data-testid': 'approval-actions' }, ...this.controls());
    this.el = h('div', { class: 'answering' }, this.row, question.short ? null : this.reasonForm(), this.problem);
  }

  // A no with words: why, or what to do instead. The agent reads them.
  reasonForm() {
    const input = h('input', { class: 'text-input', type: 'text', maxlength: 500, 'aria-label': t('denyReason'), placeholder: t('denyReason'), 'data-testid': 'deny-reason' });
    const form = h('form', {
      class: 'reason-form', hidden: true,
      onsubmit: (event) => {
        event.preventDefault();
        if (input.value.trim()) this.send('deny', input.value.trim());
      },
      onkeydown: (event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        form.hidden = true;
        this.row.querySelector('[data-testid=deny-why]')?.focus();
      },
    }, input, h('button', { type: 'submit', class: 'answer answer-deny', 'data-testid': 'deny-send', text: t('denySend') }));
    this.reason = { form, input };
    return form;
  }

  why() {
    return h('button', {
      type: 'button', class: 'answer', 'data-testid': 'deny-why', text: t('denyWhy'),
      onclick: () => {
        this.reason.form.hidden = !this.reason.form.hidden;
        if (!this.reason.form.hidden) this.reason.input.focus();
      },
    });
  }

  controls() {
    if (this.question.kind === 'unknown-outcome') {
      return ['rerun', 'skip', 'done'].map((word) => this.button(word));
    }
    if (this.question.kind === 'budget') {
      return [...RAISES.map((scope) => this.raise(scope)), this.button('deny', t('budgetStop'))];
    }
    const scopes = scopesOf(this.question);
    // A menu with one entry offers no choice.
    if (this.question.short) return [this.button('approve'), this.button('deny')];
    if (scopes.length === 1) return [this.button('approve'), this.button('deny'), this.why()];
    this.scope = h('select', { class: 'scope', 'aria-label': t('scopeLabel'), title: t('scopeLabel'), 'data-testid': 'scope' },
      ...scopes.map((name) => h('option', { value: name, text: t('scopes')[name] })));
    return [h('span', { class: 'answer-pair' }, this.button('approve'), this.scope), this.button('deny'), this.why()];
  }

  raise(scope) {
    return h('button', {
      type: 'button', class: 'answer answer-approve', 'data-answer': scope, 'data-testid': `answer-${scope}`, text: t('scopes')[scope],
      onclick: () => this.send('approve', undefined, scope),
    });
  }

  button(word, text = t('answers')[word]) {
    return h('button', {
      type: 'button', class: `answer answer-${word}`, 'data-answer': word, 'data-testid': `answer-${word}`, text,
      onclick: () => this.send(word),
    });
  }

  /** @param {string} word @param {string} [reason] @param {string} [raise] */
  async send(word, reason, raise) {
    const controls = [...this.el.querySelectorAll('button, select, input')];
    for (const control of controls) control.disabled = true;
    this.problem.hidden = true;
    try {
      this.decided(await api.decide(this.question.id, word, raise ?? (this.scope && word === 'approve' ? SCOPES[this.scope.value] : undefined), reason));
    } catch (error) {
      const words = error.status === 409 ? await conflictWords(this.question.id, error) : error.message || t('offline');
      this.problem.textContent = words;
      this.problem.hidden = false;
      // A decided approval cannot be decided again; after any other error it can.
      if (error.status !== 409) for (const control of controls) control.disabled = false;
      this.trouble();
    }
  }
}
