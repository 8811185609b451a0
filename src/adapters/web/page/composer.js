// The message box: grows with its text, sends on Enter (on touch screens the button sends), and keeps
// the draft of each thread, also over a reload.

import { Attachments } from './attachments.js';
import { setAttr, setText, tabStore } from './dom.js';
import { Recorder } from './recorder.js';
import { SlashMenu } from './slash-menu.js';
import { channelName, t } from './strings.js';
import { channelOf } from './thread.js';

// A higher box would hide the conversation.
const MAX_HEIGHT_PX = 240;

export class Composer {
  /**
   * `elements`: form, input, sendButton, stopButton, foreignStop, readonly, readonlyWords, hint,
   * slash, `attach`, the elements of the attachments, and `record`, those of the microphone.
   */
  constructor(elements, { send, stop }) {
    this.form = elements.form;
    this.input = elements.input;
    this.sendButton = elements.sendButton;
    this.stopButton = elements.stopButton;
    this.foreignStop = elements.foreignStop;
    this.readonly = elements.readonly;
    this.readonlyWords = elements.readonlyWords;
    this.hint = elements.hint;
    this.thread = null;
    this.composing = false;
    this.send = send;
    this.slash = new SlashMenu(elements.slash, this.input, (name) => this.write(`/${name} `));
    this.attachments = new Attachments(elements.attach, () => this.renderSend());
    this.recorder = new Recorder(elements.record, {
      recorded: (file) => this.sendSpoken(file),
      complain: (words) => this.attachments.complain(words),
    });
    this.input.addEventListener('paste', (event) => {
      if (this.attachments.paste(event)) event.preventDefault();
    });
    this.input.addEventListener('blur', () => this.slash.close());

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
    if (event.isComposing || this.composing || event.keyCode === 229) return;
    if (this.slash.onKey(event)) return;
    if (event.key !== 'Enter' || event.shiftKey || event.altKey) return;
    // On a touch screen Enter begins a line: there is no Shift to do that with.
    if (matchMedia('(pointer: coarse)').matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.submit();
  }

  submit() {
    const text = this.input.value.trim();
    if ((!text && this.attachments.files.length === 0) || !this.thread) return;
    const files = this.attachments.take();
    this.input.value = '';
    this.onInput();
    this.send(text, files);
  }

  /** Sends a recording, with what stands in the box. */
  async sendSpoken(file) {
    await this.attachments.add([file]);
    this.submit();
  }

  /** Replaces the text, and puts the cursor behind it. */
  write(text) {
    this.input.value = text;
    this.onInput();
    this.input.focus();
  }

  onInput() {
    if (this.thread) tabStore.set(`draft.${this.thread.id}`, this.input.value || null);
    this.slash.update(this.input.value);
    this.fit();
    this.renderSend();
  }

  renderSend() {
    this.sendButton.disabled = this.input.value.trim() === '' && this.attachments.files.length === 0;
  }

  fit() {
    this.input.style.height = 'auto';
    const wanted = this.input.scrollHeight;
    this.input.style.height = `${Math.min(wanted, MAX_HEIGHT_PX)}px`;
    this.input.style.overflowY = wanted > MAX_HEIGHT_PX ? 'auto' : 'hidden';
  }

  show(thread) {
    this.thread = thread;
    this.attachments.clear();
    this.recorder.discard();
    this.input.value = tabStore.get(`draft.${thread.id}`) ?? '';
    this.onInput();
    this.update();
  }

  /** Reflects the thread's state; cheap enough for every change. */
  update() {
    const { thread } = this;
    if (!thread) return;
    this.readonly.hidden = thread.own;
    if (!thread.own) setText(this.readonlyWords, t('readonly', { channel: channelName(channelOf(thread.id)) }));
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
    if (!matchMedia('(pointer: coarse)').matches) this.input.focus({ preventScroll: true });
  }
}
