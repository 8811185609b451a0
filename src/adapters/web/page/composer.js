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

const draftKey = (thread) => `draft.${thread.id}`;

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
    /** The thread whose message waits for its files. */
    this.sending = null;
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

  /** Sends what stands in the box, with the files; those that are still being read are waited for. */
  async submit() {
    const { thread } = this;
    if (!thread || this.sending === thread) return;
    if (this.attachments.reading) {
      this.sending = thread;
      const all = await this.attachments.of(thread.id).reading;
      this.sending = null;
      // What could not be read is told; what the person left stays a draft.
      if (!all || this.thread !== thread) return;
    }
    const text = this.input.value.trim();
    if (!text && this.attachments.files.length === 0) return;
    // The draft goes once the message is stored: no moment in which a reload loses both.
    let isStored = () => {};
    const stored = /** @type {Promise<void>} */ (new Promise((resolve) => {
      isStored = resolve;
    }));
    const files = this.attachments.take(stored);
    this.input.value = '';
    this.showInput();
    stored.then(() => {
      if (this.thread === thread) this.onInput();
      else if (tabStore.get(draftKey(thread))?.trim() === text) tabStore.set(draftKey(thread), null);
    });
    this.send(text, files, isStored);
  }

  /** Sends a recording, with what stands in the box; in the thread where it was recorded. */
  async sendSpoken(file) {
    const { thread } = this;
    if ((await this.attachments.add([file])) && this.thread === thread) this.submit();
  }

  /** Replaces the text, and puts the cursor behind it. */
  write(text) {
    this.input.value = text;
    this.onInput();
    this.input.focus();
  }

  onInput() {
    if (this.thread) tabStore.set(draftKey(this.thread), this.input.value || null);
    this.showInput();
  }

  showInput() {
    this.slash.update(this.input.value);
    this.fit();
    this.renderSend();
  }

  renderSend() {
    this.sendButton.disabled = this.input.value.trim() === '' && this.attachments.files.length === 0 && !this.attachments.reading;
  }

  fit() {
    this.input.style.height = 'auto';
    const wanted = this.input.scrollHeight;
    this.input.style.height = `${Math.min(wanted, MAX_HEIGHT_PX)}px`;
    this.input.style.overflowY = wanted > MAX_HEIGHT_PX ? 'auto' : 'hidden';
  }

  show(thread) {
    this.thread = thread;
    this.attachments.show(thread.id);
    this.recorder.discard();
    this.input.value = tabStore.get(draftKey(thread)) ?? '';
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
