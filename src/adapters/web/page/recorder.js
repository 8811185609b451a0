// Records a spoken message: the first press of the microphone button begins, the second sends, Escape
// discards. Browsers record only on pages from this machine or over TLS.

import { icon, setAttr, setText } from './dom.js';
import { t } from './strings.js';

// Longer recordings are refused by the daemon's usual limits.
const MOST_MS = 10 * 60_000;
const TICK_MS = 250;
// What recognisers take; the first that the browser can make.
const TYPES = ['audio/webm;codecs=opus', 'audio/mp4', 'audio/ogg;codecs=opus'];
const ENDINGS = { 'audio/webm': 'webm', 'audio/mp4': 'm4a', 'audio/ogg': 'ogg' };

const canRecord = () => !!navigator.mediaDevices?.getUserMedia && typeof MediaRecorder === 'function';

const release = (stream) => {
  for (const track of stream.getTracks()) track.stop();
};

const watch = (ms) => `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`;

export class Recorder {
  /** `elements`: button, time; `recorded(file)` takes a recording, `complain(words)` says why there is none. */
  constructor({ button, time }, { recorded, complain }) {
    this.button = button;
    this.time = time;
    this.recorded = recorded;
    this.complain = complain;
    this.asking = false;
    /** @type {MediaRecorder|null} */
    this.recorder = null;
    this.begun = 0;
    this.ticks = 0;
    button.addEventListener('click', () => (this.isBusy ? this.finish() : this.start()));
    document.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || !this.isBusy) return;
      event.preventDefault();
      event.stopPropagation();
      this.discard();
    }, true);
  }

  get isBusy() {
    return this.asking || this.recorder !== null;
  }

  /** Shows the button where the daemon understands speech and the browser can record. */
  offer(listens) {
    this.button.hidden = !listens || !canRecord();
    this.render();
  }

  async start() {
    this.complain('');
    this.asking = true;
    this.render();
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      // It was discarded while the browser asked for permission.
      if (this.asking) this.record(stream);
      else release(stream);
    } catch (error) {
      this.complain(t(error?.name === 'NotFoundError' ? 'microphoneMissing' : 'microphoneRefused'));
    }
    this.asking = false;
    this.render();
  }

  record(stream) {
    const mimeType = TYPES.find((type) => MediaRecorder.isTypeSupported(type));
    const recorder = new MediaRecorder(stream, mimeType ? { mimeType } : {});
    const pieces = [];
    recorder.ondataavailable = ({ data }) => pieces.push(data);
    recorder.onstop = () => {
      release(stream);
      // A discarded recorder is no longer this one.
      if (this.recorder !== recorder) return;
      this.end();
      const type = (recorder.mimeType || 'audio/webm').split(';')[0];
      this.recorded(new File(pieces, `voice.${ENDINGS[type] ?? 'webm'}`, { type }));
    };
    recorder.start();
    this.recorder = recorder;
    this.begun = Date.now();
    this.ticks = setInterval(() => this.tick(), TICK_MS);
  }

  tick() {
    const ms = Date.now() - this.begun;
    setText(this.time, watch(ms));
    if (ms >= MOST_MS) this.finish();
  }

  /** Ends the recording; it is taken once the browser has all of it. */
  finish() {
    this.asking = false;
    if (this.recorder?.state === 'recording') this.recorder.stop();
  }

  discard() {
    this.asking = false;
    const { recorder } = this;
    this.end();
    if (recorder?.state === 'recording') recorder.stop();
  }

  end() {
    this.recorder = null;
    clearInterval(this.ticks);
    this.render();
  }

  render() {
    const recording = this.recorder !== null;
    const words = t(recording ? 'recordSend' : 'record');
    setAttr(this.button, 'aria-label', words);
    setAttr(this.button, 'title', words);
    setAttr(this.button, 'aria-pressed', String(recording));
    this.button.replaceChildren(icon(recording ? 'send' : 'microphone'));
    this.time.hidden = !recording;
    if (!recording) setText(this.time, '');
  }
}
