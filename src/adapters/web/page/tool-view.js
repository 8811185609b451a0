// One tool call as a collapsible step: a summary line, and inside it the exact input and output.

import { AnswerView, outcomeWords, riskChip, scopeWords } from './answer-view.js';
import { copyButton, h, icon, setAttr, setText } from './dom.js';
import { renderMarkdown } from './markdown.js';
import { isToolPart, toolName } from './reducer.js';
import { t } from './strings.js';

// Enough to judge an output by; the rest is one click away.
const SHOWN_CHARS = 12_000;
const SUMMARY_CHARS = 140;

// The most informative fields of a call, in order of preference.
const TELLING = ['command', 'cmd', 'query', 'pattern', 'url', 'path', 'file', 'filename', 'name', 'text', 'prompt'];

const ICONS = {
  'input-streaming': 'running',
  'input-available': 'running',
  'approval-requested': 'waiting',
  'approval-responded': 'running',
  'output-available': 'ok',
  'output-error': 'error',
  'output-denied': 'denied',
  halted: 'halted',
};

/** The state that icon and label show; a call cut off with its turn is not running. */
function phase(part, { live, broken }) {
  const state = ICONS[part.state] && part.state !== 'halted' ? part.state : 'input-available';
  if (state === 'approval-requested' && broken) return 'halted';
  if (part.preliminary && live) return 'input-available';
  if (state === 'approval-responded' && part.approval?.approved === false) return 'output-denied';
  // An approved call runs; the approval is no longer shown.
  if (state === 'approval-responded' && live) return 'input-available';
  const moving = ICONS[state] === 'running';
  return moving && !live ? 'halted' : state;
}

function oneLine(value) {
  const flat = String(value).slice(0, 400).replace(/\s+/g, ' ').trim();
  return flat.length > SUMMARY_CHARS ? `${flat.slice(0, SUMMARY_CHARS)}…` : flat;
}

/** A call's input in one line. */
export function summarize(part) {
  const input = part.input ?? part.rawInput;
  if (input === undefined || input === null) return '';
  if (typeof input !== 'object') return oneLine(input);
  const isShort = (value) => ['string', 'number', 'boolean'].includes(typeof value) && value !== '';
  const key = TELLING.find((name) => isShort(input[name])) ?? Object.keys(input).find((name) => isShort(input[name]));
  if (key !== undefined) return oneLine(input[key]);
  return Object.keys(input).length ? oneLine(JSON.stringify(input)) : '';
}

function pretty(value) {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value, null, 2);
  } catch {
    return String(value);
  }
}

// Most tools return one long text and some fields. As JSON the text would be a single line full of
// escapes.
const TEXTS = ['content', 'stdout', 'text'];

function textAndFacts(output) {
  if (output === null || typeof output !== 'object' || Array.isArray(output)) return null;
  const key = TEXTS.find((name) => typeof output[name] === 'string' && output[name] !== '');
  const facts = Object.entries(output).filter(([name, value]) => name !== key && value !== '');
  if (!key || facts.some(([, value]) => value !== null && typeof value === 'object')) return null;
  return { text: output[key], facts: facts.map(([name, value]) => `${name}: ${value}`).join(' · ') };
}

function outputSection(output) {
  const split = textAndFacts(output);
  const body = section(t('toolOutput'), split ? split.text : pretty(output), 'output');
  if (split?.facts) body.append(h('p', { class: 'io-facts', text: split.facts }));
  return body;
}

function section(label, text, kind) {
  const pre = h('pre', { tabindex: '0' });
  const body = h('div', { class: `io io-${kind}` },
    h('div', { class: 'io-head' },
      h('span', { text: label }),
      copyButton({ copy: t('copy'), copied: t('copied') }, () => text)),
    pre);
  pre.textContent = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
  if (text.length > SHOWN_CHARS) {
    body.append(h('button', {
      type: 'button', class: 'quiet-button io-more', text: t('toolMore', { size: `${Math.ceil(text.length / 1024)} KB` }),
      onclick(event) {
        pre.textContent = text;
        event.currentTarget.remove();
      },
    }));
  }
  return body;
}

export class ToolView {
  constructor() {
    this.mark = h('span', { class: 'step-icon' });
    this.name = h('span', { class: 'step-name' });
    this.summary = h('span', { class: 'step-summary' });
    this.word = h('span', { class: 'step-state' });
    this.body = h('div', { class: 'step-body' });
    this.details = h('details', { class: 'step', 'data-testid': 'tool-step', ontoggle: () => this.fill() },
      h('summary', null, this.mark, this.name, this.summary, this.word, icon('chevron')),
      this.body);
    this.progress = h('p', { class: 'step-progress', 'data-testid': 'tool-progress', hidden: true });
    this.approval = h('div', { class: 'approval', 'data-testid': 'approval', hidden: true });
    this.el = h('div', { class: 'part part-tool' }, this.details, this.progress, this.approval);
  }

  static fits(part) {
    return isToolPart(part);
  }

  /**
   * `broken`: the turn was stopped or failed, so the approval is void. `progress`: the last
   * progress of the running call.
   */
  update(part, turn) {
    this.shown = part;
    this.turn = turn;
    const now = phase(part, turn);
    setAttr(this.details, 'data-state', part.state);
    setAttr(this.details, 'data-phase', now);
    setAttr(this.details, 'data-tool', toolName(part));
    if (this.drawn !== now) {
      this.drawn = now;
      this.mark.replaceChildren(icon(ICONS[now]));
    }
    setText(this.name, toolName(part));
    setText(this.summary, summarize(part));
    setText(this.word, t('state')[now]);
    this.filled = false;
    this.fill();
    this.progress.hidden = !turn.progress || ICONS[now] !== 'running';
    setText(this.progress, turn.progress ?? '');
    this.updateApproval(part, now);
  }

  // Built only when opened: a long thread holds hundreds of closed steps.
  fill() {
    if (!this.details.open || this.filled) return;
    this.filled = true;
    const part = this.shown;
    const input = pretty(part.input ?? part.rawInput);
    const sections = [];
    if (input !== '') sections.push(section(t('toolInput'), input, 'input'));
    if (part.state === 'output-error') sections.push(section(t('toolError'), pretty(part.errorText), 'error'));
    else if (part.output !== undefined) {
      const output = pretty(part.output);
      sections.push(output === ''
        ? h('p', { class: 'io-none', text: t('toolNoOutput') })
        : outputSection(part.output));
    }
    this.body.replaceChildren(...sections);
  }

  // Outside the <details>: an approval must not be folded away.
  updateApproval(part, now) {
    const waits = now === 'approval-requested';
    const answered = typeof part.approval?.approved === 'boolean';
    this.approval.hidden = !waits && !answered;
    if (this.approval.hidden) {
      this.approval.replaceChildren();
      this.asked = null;
      return;
    }
    const id = part.approval?.id ?? '';
    const key = `${id}|${waits ? 'waits' : part.approval.approved}`;
    if (this.asked === key) return;
    this.asked = key;
    setAttr(this.approval, 'data-approval-id', id);
    // A question stands below its call; its outcome above what came of it.
    if (waits) this.el.append(this.approval);
    else this.details.before(this.approval);
    setAttr(this.approval, 'data-testid', waits ? 'approval' : 'approval-answered');
    setAttr(this.approval, 'data-outcome', waits ? null : part.approval.approved ? 'approved' : 'denied');
    if (waits) {
      const { kind, scopes } = part.approval?.descriptor ?? {};
      const answer = new AnswerView({ id, tool: toolName(part), kind, scopes }, { decided: (approval) => this.decided(approval) });
      this.approval.replaceChildren(icon('waiting'), this.question(part), answer.el);
    } else this.approval.replaceChildren(icon(part.approval.approved ? 'ok' : 'denied'), this.answered(part));
  }

  // A decision made here is shown before the thread file tells of it.
  decided(approval) {
    this.decision = approval?.state === 'pending' ? null : approval;
    this.asked = null;
    if (this.shown && this.turn) this.updateApproval(this.shown, phase(this.shown, this.turn));
  }

  /** What was asked and what became of it; stands between the call and its result. */
  answered(part) {
    const { approved, reason, descriptor } = part.approval;
    const title = [descriptor?.number, descriptor?.summary ?? summarize(part)].filter(Boolean).join(' · ');
    const recorded = descriptor?.decidedBy ? descriptor : null;
    const known = this.decision?.id === part.approval.id ? this.decision : recorded;
    const words = (known && outcomeWords(known)) || t(approved ? 'outcomeApproved' : 'outcomeDenied');
    const facts = [words, known ? scopeWords(known.scope) : '', reason ? t('approvalReason', { reason }) : ''].filter(Boolean).join(' · ');
    return h('div', { class: 'approval-text' },
      h('div', { class: 'approval-head' }, title ? h('p', { class: 'approval-summary', 'data-testid': 'approval-summary', text: title }) : null, riskChip(descriptor?.risk)),
      h('p', { class: 'approval-outcome', 'data-testid': 'approval-outcome', text: facts }));
  }

  // The approval: its number and what would be done, then the reason.
  question(part) {
    const { number, kind, summary, details, risk } = part.approval?.descriptor ?? {};
    const title = [number, summary].filter(Boolean).join(' · ');
    const more = h('div', { class: 'approval-details md', hidden: !details });
    renderMarkdown(more, String(details ?? ''));
    return h('div', { class: 'approval-text' },
      h('div', { class: 'approval-head' }, h('p', { text: t({ 'unknown-outcome': 'unknownOutcome', budget: 'budgetWaiting' }[kind] ?? 'approvalWaiting') }), riskChip(risk)),
      title ? h('p', { class: 'approval-summary', 'data-testid': 'approval-summary', text: title }) : null,
      more);
  }
}
