// One server-sent event stream that reconnects by itself. Read with fetch, not with EventSource:
// that cannot send the Authorization header.

import { EventParser } from './sse.js';

const FIRST_DELAY_MS = 400;
const LONGEST_DELAY_MS = 15_000;
// The daemon sends a comment after 15 seconds without an event.
const SILENCE_MS = 45_000;

export class EventStream {
  /**
   * `open(signal)` returns the response. `event(name, data)`, `up()` on every (re)connection,
   * `down(refused)` on every loss; `refused` means that the daemon answered, but not with a stream.
   */
  constructor(open, { event, up, down }) {
    this.open = open;
    this.handlers = { event, up, down };
    this.failures = 0;
    /** Of the current connection; null between two. */
    this.abort = null;
    this.timer = 0;
    this.ended = false;
    this.online = () => this.retryNow();
    window.addEventListener('online', this.online);
    this.connect();
  }

  async connect() {
    clearTimeout(this.timer);
    const abort = new AbortController();
    this.abort = abort;
    let refused = false;
    let silence = 0;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    try {
      heard();
      const response = await this.open(abort.signal);
      refused = !isStream(response);
      if (!refused && this.abort === abort) await this.read(response, abort, heard);
    } catch {
      // Handled below, like a stream that ended without an error.
    }
    clearTimeout(silence);
    abort.abort();
    if (this.abort === abort) this.lost(refused);
  }

  async read(response, abort, heard) {
    this.failures = 0;
    guarded(() => this.handlers.up());
    const parser = new EventParser((name, data) => {
      if (this.abort === abort) guarded(() => this.handlers.event(name, parse(data)));
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.abort !== abort) return;
      heard();
      parser.push(value);
    }
  }

  lost(refused) {
    this.abort = null;
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.failures++);
    // Jitter, so that many tabs do not reconnect to a restarted daemon at once.
    this.timer = setTimeout(() => this.connect(), delay * (0.75 + Math.random() / 2));
    this.handlers.down(refused);
  }

  /** Skips the rest of the back-off. */
  retryNow() {
    if (this.ended || this.abort) return;
    this.failures = 0;
    this.connect();
  }

  close() {
    this.ended = true;
    clearTimeout(this.timer);
    window.removeEventListener('online', this.online);
    const { abort } = this;
    this.abort = null;
    abort?.abort();
  }
}

const isStream = (response) => response.ok && (response.headers.get('content-type') ?? '').startsWith('text/event-stream');

// A fault in the page's handling of one event must not cost the connection: it is reported, and the next event follows.
function guarded(act) {
  try {
    act();
  } catch (error) {
    reportError(error);
  }
}

// A line that is not JSON is a fault of the daemon, not a reason to stop here.
function parse(data) {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}
