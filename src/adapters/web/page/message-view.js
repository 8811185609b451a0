// One message of the log. Parts keep their elements between updates, so an
// opened step stays open and a selection survives while text streams in.

import { AnswerView, outcomeWords } from './answer-view.js';
import { attempt, problemLine } from './controls.js';
import { copyButton, h, icon, setAttr, setText } from './dom.js';
import { FileView } from './file-view.js';
import { renderMarkdown } from './markdown.js';
import { player } from './sound.js';
import { commandOf } from './store.js';
import { clock, t } from './strings.js';
import { ToolView } from './tool-view.js';

class TextView {
  constructor(role) {
    this.plain = role === 'user';
    this.el = h('div', { class: this.plain ? 'part part-plain' : 'part part-text md' });
  }

  update(part, { live }) {
    const text = String(part.text ?? '');
    const growing = live && part.state === 'streaming';
    // User messages are shown as typed; only replies are Markdown.
    if (this.plain) setText(this.el, text);
    else renderMarkdown(this.el, text, growing);
    this.el.hidden = text.trim() === '';
    this.el.classList.toggle('streaming', growing);
  }
}

class ReasoningView {
  constructor() {
    this.label = h('span');
    this.text = h('div', { class: 'reasoning-text' });
    this.el = h('details', { class: 'part reasoning', 'data-testid': 'reasoning' },
      h('summary', null, icon('chevron'), this.label), this.text);
  }

  update(part, { live }) {
    setText(this.label, t(live && part.state === 'streaming' ? 'thinking' : 'thought'));
    setText(this.text, String(part.text ?? '').trim());
    this.el.hidden = this.text.textContent === '';
  }
}

/** What earlier messages came to: a line that opens to the observations. */
class CheckpointView {
  constructor() {
    this.label = h('span');
    this.list = h('ul', { class: 'reasoning-text' });
    this.el = h('details', { class: 'part reasoning', 'data-testid': 'checkpoint' },
      h('summary', null, icon('chevron'), this.label), this.list);
  }

  update(part) {
    const { messages, observations, open } = part.data ?? {};
    setText(this.label, t('checkpoint', { count: Number(messages ?? 0) }));
    const day = (at) => (Number.isFinite(Number(at)) ? new Date(Number(at)).toISOString().slice(0, 10) : '');
    const told = (observations ?? []).map(({ at, who, text }) => h('li', { text: `${day(at)} ${who ?? ''}: ${text ?? ''}` }));
    const asked = (open ?? []).map(({ text }) => h('li', { text: `${t('checkpointOpen')} ${text ?? ''}` }));
    this.list.replaceChildren(...told, ...asked);
  }
}

class ErrorView {
  constructor() {
    /** @type {any} set by the message */
    this.context = null;
    this.el = h('div', { class: 'part error-box', 'data-testid': 'error', role: 'alert' });
  }

  update(part) {
    const { kind, text, retryable, detail } = part.data ?? {};
    setAttr(this.el, 'data-kind', kind ?? null);
    // The daemon's error texts name settings and commands in backticks.
    const words = h('div', { class: 'error-text md' });
    renderMarkdown(words, String(text ?? ''));
    this.el.replaceChildren(
      icon('error'),
      h('div', null,
        h('p', { class: 'error-title' }, t('errorTitle'), kind && kind !== 'error' ? h('code', { text: String(kind) }) : null),
        text ? words : null,
        // The provider's own message: the reader of this page operates the agent.
        detail ? h('pre', { class: 'error-detail', text: String(detail) }) : null,
        retryable ? h('p', { class: 'error-hint', text: t('errorRetryable') }) : null,
        h('button', { type: 'button', class: 'quiet-button', 'data-testid': 'error-retry', hidden: true, onclick: () => this.context?.regenerate() }, icon('retry'), t('retry'))));
  }
}

const VIEWS = { text: TextView, reasoning: ReasoningView, file: FileView, 'data-error': ErrorView, 'data-checkpoint': CheckpointView };

function viewClass(part) {
  if (ToolView.fits(part)) return ToolView;
  return VIEWS[part?.type] ?? null;
}

// Counted per kind: a committed message may lack the step marks of the live one,
// and its long texts must find their elements all the same.
function partKey(part, counts) {
  if (part.toolCallId) return `tool:${part.toolCallId}`;
  counts[part.type] = (counts[part.type] ?? 0) + 1;
  return `${part.type}:${counts[part.type]}`;
}

export class MessageView {
  /**
   * `context`: `{agentName, foreign, retry(id), discard(id), waits(approvalId), regenerate(), resend(id, text), editHint(id),
   * isQueued(id), withdraw(id), idle(), speaks(), speech(id), complain(words)}`; foreign threads name authors.
   */
  constructor(entry, context) {
    this.context = context;
    this.views = new Map();
    this.rev = -1;
    this.wasLast = false;
    this.day = h('div', { class: 'day', hidden: true }, h('span'));
    this.body = h('div', { class: 'body' });
    this.author = h('span', { class: 'author' });
    this.clock = h('time');
    this.mark = h('span', { class: 'mark-word' });
    this.copy = copyButton({ copy: t('copy'), copied: t('copied') }, () => this.plainText());
    this.again = this.metaButton('regenerate', 'retry', t('regenerate'), () => context.regenerate());
    this.edit = this.metaButton('edit', 'edit', t('editMessage'), () => this.startEdit());
    this.listen = this.metaButton('listen', 'sound', t('listen'), () => this.play());
    this.takeBack = this.metaButton('withdraw', 'close', t('withdrawLabel'), () => context.withdraw(this.entry.id));
    this.sound = h('div', { class: 'sound' });
    this.meta = h('div', { class: 'meta' }, this.author, this.clock, this.mark, this.copy, this.listen, this.again, this.edit, this.takeBack);
    this.failure = h('div', { class: 'failure', hidden: true });
    this.article = h('article', { class: 'msg', 'data-testid': 'message' }, this.body, this.sound, this.meta, this.failure);
    this.el = h('div', { class: 'row' }, this.day, this.article);
    this.update(entry);
  }

  metaButton(name, picture, words, act) {
    return h('button', { type: 'button', class: 'copy', 'aria-label': words, title: words, 'data-testid': name, hidden: true, onclick: act }, icon(picture));
  }

  // The answer as sound, which the daemon makes now.
  async play() {
    this.listen.disabled = true;
    try {
      const sound = await this.context.speech(this.entry.id);
      this.sound.replaceChildren(player(sound, t('listen')));
    } catch (error) {
      this.context.complain(error.message || t('offline'));
    }
    this.listen.disabled = false;
  }

  // The message in a box of its own; what is sent takes its place or begins a branch.
  startEdit() {
    const area = h('textarea', { class: 'edit-area', rows: 3, 'aria-label': t('editMessage'), 'data-testid': 'edit-text' });
    area.value = this.plainText();
    const end = () => {
      form.remove();
      this.body.hidden = false;
      this.meta.hidden = false;
      this.edit.focus();
    };
    const send = async () => {
      if (area.value.trim() === '') return;
      // The words stay until the daemon has them.
      if (await attempt(form, problem, () => this.context.resend(this.entry.id, area.value.trim()))) end();
    };
    const problem = problemLine();
    const form = h('form', {
      class: 'edit-form',
      onsubmit: (event) => {
        event.preventDefault();
        send();
      },
      onkeydown: (event) => {
        if (event.key === 'Escape') {
          event.preventDefault();
          event.stopPropagation();
          end();
        } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          send();
        }
      },
    }, area, h('div', { class: 'answers' },
      h('button', { type: 'submit', class: 'answer answer-approve', 'data-testid': 'edit-send', text: t('send') }),
      h('button', { type: 'button', class: 'answer', 'data-testid': 'edit-cancel', text: t('cancel'), onclick: end }),
      h('span', { class: 'field-hint', text: this.context.editHint(this.entry.id) })), problem);
    this.body.hidden = true;
    this.meta.hidden = true;
    this.body.before(form);
    area.focus();
  }

  setDay(label) {
    this.day.hidden = !label;
    if (label) setText(this.day.firstChild, label);
  }

  plainText() {
    return (this.entry.message.parts ?? [])
      .filter((part) => part?.type === 'text')
      .map((part) => part.text)
      .join('\n\n');
  }

  update(entry) {
    if (entry.rev === this.rev && entry === this.entry) return;
    this.entry = entry;
    this.rev = entry.rev;
    const { message, live, local } = entry;
    const { article } = this;
    const command = commandOf(message);
    const typedCommand = local && local.text.startsWith('/');
    const role = command || message.role !== 'user' ? 'assistant' : 'user';
    setAttr(article, 'data-role', message.role);
    setAttr(article, 'data-id', entry.id);
    setAttr(article, 'data-status', message.metadata?.status ?? null);
    setAttr(article, 'data-local', local?.state ?? null);
    // Screen readers announce a reply when it is complete, not character by character.
    setAttr(article, 'aria-busy', live ? 'true' : null);
    article.className = `msg msg-${command ? 'command' : role}${typedCommand ? ' msg-typed-command' : ''}`;

    if (command) this.updateCommand(command);
    else this.updateParts(message, role, entry);
    this.updateMeta(message, role, live, command);
    this.updateFailure(entry);
  }

  updateParts(message, role, { live, progress: lines }) {
    const broken = ['stopped', 'failed'].includes(message.metadata?.status);
    const seen = new Set();
    const order = [];
    const counts = {};
    for (const part of message.parts) {
      const Kind = part && viewClass(part);
      if (!Kind) continue;
      const key = partKey(part, counts);
      let view = this.views.get(key);
      if (!view) {
        view = new Kind(role);
        view.context = this.context;
        this.views.set(key, view);
      }
      const progress = lines?.get(part.toolCallId) ?? '';
      if (view.part !== part || view.live !== live || view.broken !== broken || view.line !== progress) {
        Object.assign(view, { part, live, broken, line: progress });
        view.update(part, { live, broken, progress });
      }
      seen.add(key);
      order.push(view.el);
    }
    for (const [key, view] of this.views) {
      if (seen.has(key)) continue;
      view.el.remove();
      this.views.delete(key);
    }
    order.forEach((el, at) => {
      if (this.body.children[at] !== el) this.body.insertBefore(el, this.body.children[at] ?? null);
    });
  }

  updateCommand(command) {
    const name = String(command.command ?? '');
    if (/^\/new\b/.test(name)) {
      this.body.replaceChildren(h('div', { class: 'divider', role: 'separator' }, h('span', { text: t('newConversation') })));
      return;
    }
    const who = this.context.foreign && command.author ? h('span', { class: 'chip-author', text: `${command.author} ` }) : null;
    const chip = h('div', { class: 'chip' }, who, h('code', { text: name }));
    // The stopped message shows it already; the record is kept short.
    if (name === '/stop') {
      chip.append(h('span', { class: 'chip-reply', text: String(command.reply ?? '') }));
      this.body.replaceChildren(chip);
      return;
    }
    const note = h('div', { class: 'note md' });
    renderMarkdown(note, String(command.reply ?? ''));
    this.body.replaceChildren(chip, note, ...this.choices(command));
  }

  // A question back has the answers to each question that may be meant and still waits.
  choices(command) {
    const waiting = (command.choices ?? []).filter((choice) => this.context.waits(choice.id));
    return waiting.map((choice) => {
      const row = h('div', { class: 'ask-back', 'data-testid': 'ask-back', 'data-approval-id': choice.id });
      const decided = (approval) => row.replaceChildren(h('span', { text: `${choice.number} · ${outcomeWords(approval)}` }));
      const answer = new AnswerView({ id: choice.id, kind: choice.kind, scopes: ['once'], short: true }, { decided });
      row.append(h('span', { class: 'ask-back-number', text: choice.number }), answer.el);
      return row;
    });
  }

  updateMeta(message, role, live, command) {
    const { authorName, authorId, timestamp, status } = message.metadata ?? {};
    // In a thread of another channel the author is another person.
    const operated = /:user:operator$/.test(String(authorId ?? ''));
    const person = () => (this.context.foreign && operated ? t('asOperator') : this.context.foreign ? authorName || String(authorId ?? '').split(':').pop() : '') || t('you');
    const name = role === 'user' ? person() : this.context.agentName();
    setText(this.author, name);
    this.author.classList.toggle('quiet', !(this.context.foreign && role === 'user'));
    const at = Number(timestamp);
    this.clock.hidden = !Number.isFinite(at) || at <= 0;
    if (!this.clock.hidden) {
      setText(this.clock, clock(at));
      setAttr(this.clock, 'datetime', new Date(at).toISOString());
    }
    // `running` in an idle thread: the daemon ended in the middle of the turn.
    const words = { stopped: 'stopped', failed: 'failed', running: live ? null : 'interrupted' };
    const withdrawn = message.metadata?.withdrawn === true;
    const word = withdrawn ? 'withdrawn' : role === 'assistant' && !command ? words[status] : null;
    setAttr(this.article, 'data-withdrawn', withdrawn ? 'true' : null);
    this.mark.hidden = !word;
    setText(this.mark, word ? t(word) : '');
    setAttr(this.mark, 'data-mark', word ?? null);
    setAttr(this.article, 'data-operator', this.context.foreign && role === 'user' && operated ? 'true' : null);
    this.copy.hidden = live || !!command || this.plainText() === '';
    this.listen.hidden = role !== 'assistant' || live || !!command || !this.context.speaks() || this.plainText() === '';
    this.edit.hidden = role !== 'user' || !operated || withdrawn || !!command || this.plainText() === '';
    this.takeBack.hidden = role !== 'user' || !operated || !!command || !this.context.isQueued(message.id);

    this.meta.hidden = live || !!command;
    setAttr(this.article, 'aria-label', this.clock.hidden ? name : `${name}, ${this.clock.textContent}`);
  }

  /** The last answer can be asked for again while nothing runs. */
  renderLast({ message, live }, isLast) {
    const again = isLast && message.role === 'assistant' && !commandOf(message) && !live && this.context.idle();
    if (this.again.hidden === again) this.again.hidden = !again;
    if (!isLast && !this.wasLast) return;
    this.wasLast = isLast;
    const retry = this.body.querySelector('[data-testid=error-retry]');
    if (retry) retry.hidden = !again;
  }

  updateFailure({ local, id }) {
    const failed = local?.state === 'failed';
    this.failure.hidden = !failed;
    if (!failed) {
      this.failure.replaceChildren();
      return;
    }
    const { status, text } = local.error;
    const known = { 0: t('notSentNetwork'), [-1]: t('notSentWhy', { why: t('unsentBefore') }) };
    const why = text ? t('notSentWhy', { why: text }) : known[status] ?? t('notSentWhy', { why: `HTTP ${status}` });
    this.failure.replaceChildren(
      h('span', { role: 'alert', 'data-testid': 'error' }, icon('error'), why),
      h('button', { type: 'button', class: 'quiet-button', 'data-testid': 'retry', onclick: () => this.context.retry(id) },
        icon('retry'), t('retry')),
      h('button', { type: 'button', class: 'quiet-button', 'data-testid': 'discard', text: t('unsentDiscard'), onclick: () => this.context.discard(id) }));
  }
}
