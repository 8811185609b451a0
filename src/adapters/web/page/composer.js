// The message box: grows with its text, sends on Enter, and keeps the draft of each thread.

import { setAttr, setText } from './dom.js';
import { channelName, t } from './strings.js';
import { channelOf } from './thread.js';

// A higher box would hide the conversation.
const MAX_HEIGHT_PX = 240;

export class Composer {
  /** `elements`: form, input, sendButton, stopButton, foreignStop, readonly, readonlyWords, hint. */
  constructor(elements, { send, stop }) {
    this.form = elements.form;
    this.input = elements.input;
    this.sendButton = elements.sendButton;
    this.stopButton = elements.stopButton;
    this.foreignStop = elements.foreignStop;
    this.readonly = elements.readonly;
    this.readonlyWords = elements.readonlyWords;
    this.hint = elements.hint;
    this.drafts = new Map();
    this.thread = null;
    this.composing = false;
    this.send = send;

    this.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.submit();
    });
    this.stopButton.addEventListener('click', stop);
    this.foreignStop.addEventListener('click', stop);
    this.input.addEventListener('input', () => this.onInput());
    this.input.addEventListener('keydown', (event) => this.onKey(event));
    this.input.addEventListener('compositionstart', () => { this.composing = true; });
    this.input.addEventListener('compositionend', () => { this.composing = false; });
    window.addEventListener('resize', () => this.fit());
  }

  // Enter also confirms a candidate of an input method. Three indicators: the flag, our own
  // tracking, and 229, which Safari still sends.
  onKey(event) {
    if (event.key !== 'Enter' || event.shiftKey || event.altKey) return;
    if (event.isComposing || this.composing || event.keyCode === 229) return;
    event.preventDefault();
    this.submit();
  }

  submit() {
    const text = this.input.value.trim();
    if (!text || !this.thread?.writable) return;
    this.input.value = '';
    this.onInput();
    this.send(text);
  }

  onInput() {
    if (this.thread) this.drafts.set(this.thread.id, this.input.value);
    this.fit();
    this.sendButton.disabled = this.input.value.trim() === '';
  }

  fit() {
    this.input.style.height = 'auto';
    const wanted = this.input.scrollHeight;
    this.input.style.height = `${Math.min(wanted, MAX_HEIGHT_PX)}px`;
    this.input.style.overflowY = wanted > MAX_HEIGHT_PX ? 'auto' : 'hidden';
  }

  show(thread) {
    this.thread = thread;
    this.input.value = this.drafts.get(thread.id) ?? '';
    this.onInput();
    this.update();
  }

  /** Reflects the thread's state; cheap enough for every change. */
  update() {
    const { thread } = this;
    if (!thread) return;
    this.form.hidden = !thread.writable;
    this.hint.hidden = !thread.writable;
    this.readonly.hidden = thread.writable;
    if (!thread.writable) setText(this.readonlyWords, t('readonly', { channel: channelName(channelOf(thread.id)) }));
    // Hiding a focused button would lose the keyboard's place on the page.
    const hide = !thread.running;
    if (hide && document.activeElement === this.stopButton) this.input.focus();
    // A stop takes a waiting question back; the button says so before it is pressed.
    const label = t(thread.stopping ? 'stopping' : thread.interruptible ? 'stop' : 'stopWithdraws');
    for (const button of [this.stopButton, this.foreignStop]) {
      if (button.hidden !== hide) button.hidden = hide;
      setAttr(button, 'aria-label', label);
      setAttr(button, 'title', label);
      setAttr(button, 'aria-disabled', thread.stopping ? 'true' : null);
    }
  }

  /** Not on touch screens, where focus opens a keyboard over the page. */
  focus() {
    if (!this.form.hidden && !matchMedia('(pointer: coarse)').matches) this.input.focus({ preventScroll: true });
  }
}
