// One server-sent event stream which keeps itself alive. The browser's own
// retry is not used: it has no back-off and gives up on HTTP errors.

const FIRST_DELAY_MS = 400;
const LONGEST_DELAY_MS = 15_000;
const NAMES = ['state', 'message', 'chunk', 'notice', 'reload'];

export class EventStream {
  /**
   * `event(name, data)`, `up()` on every (re)connection, `down(refused)` on
   * every loss; `refused` means the daemon answered, but not with a stream.
   */
  constructor(url, { event, up, down }) {
    this.url = url;
    this.handlers = { event, up, down };
    this.failures = 0;
    this.source = null;
    this.timer = 0;
    this.ended = false;
    this.online = () => this.retryNow();
    window.addEventListener('online', this.online);
    this.connect();
  }

  connect() {
    if (this.ended) return;
    clearTimeout(this.timer);
    this.source?.close();
    const source = new EventSource(this.url);
    this.source = source;
    source.onopen = () => {
      if (this.source !== source) return;
      this.failures = 0;
      this.handlers.up();
    };
    source.onerror = () => {
      if (this.source !== source) return;
      const refused = source.readyState === EventSource.CLOSED;
      source.close();
      this.source = null;
      const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.failures++);
      // Jitter, so that many tabs do not knock on a restarted daemon at once.
      this.timer = setTimeout(() => this.connect(), delay * (0.75 + Math.random() / 2));
      this.handlers.down(refused);
    };
    for (const name of NAMES) {
      source.addEventListener(name, (message) => {
        if (this.source === source) this.handlers.event(name, parse(message.data));
      });
    }
  }

  /** Skips what is left of the back-off, when there is reason to hope. */
  retryNow() {
    if (this.ended || this.source) return;
    this.failures = 0;
    this.connect();
  }

  close() {
    this.ended = true;
    clearTimeout(this.timer);
    window.removeEventListener('online', this.online);
    this.source?.close();
    this.source = null;
  }
}

// A line that is not JSON is the daemon's fault, not a reason to stop here.
function parse(data) {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}
