// The open thread: its history, its event stream and its sending, as one object that the page opens
// and closes. Knows nothing of the DOM.

import { api, ApiError, PAGE_SIZE } from './api.js';
import { dataUrl } from './attachments.js';
import { unsent } from './kept.js';
import { MessageStore } from './store.js';
import { EventStream } from './stream.js';

/** Whether a thread is the console's own; in others the operator speaks among its people. */
export const isOwn = (threadId) => threadId.startsWith('web:');

/** The channel of a thread: `telegram` of `telegram:chat:-100`. */
export const channelOf = (threadId) => threadId.split(':', 1)[0];

const REFRESH_AGAIN_MS = 3_000;
const STOPS_WITHIN_MS = 20_000;

const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

export function newThreadId() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `web:chat:${Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join('')}`;
}

// randomUUID exists in secure contexts only; the console may run on a LAN.
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 0x0f) | 0x40;
  b[8] = (b[8] & 0x3f) | 0x80;
  const hex = Array.from(b, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

// What happens in the open thread; all other events are about the whole daemon.
const OWN_EVENTS = new Set(['message', 'chunk', 'notice', 'state', 'reload']);

export class Thread {
  /**
   * `changed()` after any change; `stateChanged()` when the turn's state moved;
   * `elsewhere(name, data)` for what happens outside of this thread.
   */
  constructor(id, { changed, stateChanged, elsewhere }) {
    this.id = id;
    this.own = isOwn(id);
    this.closed = false;
    this.notify = () => {
      if (!this.closed) changed();
    };
    this.stateChanged = () => {
      if (!this.closed) stateChanged();
    };
    this.elsewhere = elsewhere;
    this.store = new MessageStore(this.notify);
    this.state = 'idle';
    /** Whether `state` came from the daemon and is not a guess. */
    this.known = false;
    this.queued = 0;
    /** The messages that wait for a run of their own. */
    this.waiting = new Set();
    /** When the running turn was first seen here. */
    this.startedAt = 0;
    this.pendingApprovals = 0;
    this.notice = null;
    this.connection = 'connecting';
    this.loaded = false;
    this.hasEarlier = false;
    this.loadingEarlier = false;
    this.earlierFailed = false;
    this.stopping = false;
    this.refreshing = null;
    this.stream = null;
    /** The messages that are kept in the browser until the daemon has them. */
    this.unsent = new Set();
    this.connect();
  }

  get running() {
    return this.state !== 'idle';
  }

  /** Whether a stop would end work only, and take back no question to a person. */
  get interruptible() {
    return this.state === 'running' && this.pendingApprovals === 0;
  }

  connect() {
    this.stream = new EventStream((signal) => api.events(this.id, signal), {
      event: (name, data) => this.onEvent(name, data),
      up: () => {
        this.connection = 'open';
        this.notify();
        // Only now: a page fetched before the subscription could miss messages committed in
        // between.
        this.refresh();
      },
      down: (refused) => {
        this.connection = this.loaded ? 'reconnecting' : 'offline';
        this.notify();
        if (refused) this.refresh();
      },
    });
  }

  /** Closes the connection while the tab is hidden (browsers allow six in all). */
  pause() {
    this.stream?.close();
    this.stream = null;
  }

  resume() {
    if (this.closed) return;
    if (this.stream) {
      this.stream.retryNow();
      return;
    }
    this.connection = 'connecting';
    this.notify();
    this.connect();
  }

  close() {
    this.closed = true;
    this.pause();
  }

  onEvent(name, data) {
    if (this.closed) return;
    if (!OWN_EVENTS.has(name)) this.elsewhere(name, data);
    else if (name === 'reload') this.refresh(true);
    else if (!data) return;
    else if (name === 'message') {
      this.store.upsert(data);
      this.arrived([data]);
    }
    else if (name === 'chunk') this.store.chunk(data.messageId, data.chunk);
    else if (name === 'notice') this.onNotice(data);
    else if (name === 'state') this.onState(data);
  }

  onNotice(data) {
    if (data.toolCallId) {
      this.store.progress(String(data.toolCallId), String(data.text ?? ''));
      return;
    }
    this.notice = { kind: data.kind === 'error' ? 'error' : 'progress', text: String(data.text ?? '') };
    this.notify();
  }

  onState(data) {
    const before = this.state;
    this.known = true;
    this.state = ['running', 'awaiting-approval'].includes(data.state) ? data.state : 'idle';
    this.queued = Number(data.queued) || 0;
    const waiting = new Set(Array.isArray(data.waiting) ? data.waiting : []);
    const changed = [...waiting, ...this.waiting].filter((id) => waiting.has(id) !== this.waiting.has(id));
    this.waiting = waiting;
    for (const id of changed) this.store.refresh(id);
    this.pendingApprovals = Number(data.pendingApprovals) || 0;
    if (this.state === 'idle') {
      this.stopping = false;
      // Progress ends with the turn; an error stays long enough to be read.
      if (this.notice?.kind === 'progress') this.notice = null;
      this.store.rest();
    } else if (before === 'idle') {
      this.startedAt = Date.now();
      this.stopping = false;
      this.notice = null;
    }
    this.notify();
    this.stateChanged();
  }

  dismissNotice() {
    this.notice = null;
    this.notify();
  }

  /** Fetches the newest page; one request at a time, and once more if called meanwhile. */
  refresh(reset = false) {
    if (this.refreshing) {
      this.refreshAgain = { reset: reset || this.refreshAgain?.reset === true };
      return;
    }
    this.refreshing = this.loadNewest(reset)
      .catch((error) => {
        // The stream handles a lost connection and the login form a 401; any other refusal is
        // retried, or the conversation would stay blank.
        if (error.status === 401 || this.connection !== 'open') return;
        clearTimeout(this.refreshTimer);
        this.refreshTimer = setTimeout(() => this.closed || this.refresh(reset), REFRESH_AGAIN_MS);
      })
      .finally(() => {
        this.refreshing = null;
        const again = this.refreshAgain;
        this.refreshAgain = null;
        if (again && !this.closed) this.refresh(again.reset);
      });
  }

  async loadNewest(reset) {
    const since = this.store.clock;
    const messages = await api.messages(this.id);
    if (this.closed) return;
    const first = !this.loaded;
    this.loaded = true;
    this.arrived(messages);
    const { connected } = this.store.mergeNewest(messages, { since, running: this.running, reset });
    // Earlier pages already here stay; otherwise a full page means that there is more.
    if (first || !connected) this.hasEarlier = messages.length >= PAGE_SIZE;
    if (first) await this.showUnsent();
    this.notify();
  }

  async loadEarlier() {
    const before = this.store.oldestId();
    if (this.loadingEarlier || !this.hasEarlier || !before) return;
    this.loadingEarlier = true;
    this.earlierFailed = false;
    this.notify();
    try {
      const messages = await api.messages(this.id, before);
      if (this.closed) return;
      const added = this.store.prepend(messages);
      this.hasEarlier = messages.length >= PAGE_SIZE && added > 0;
    } catch {
      this.earlierFailed = true;
    }
    this.loadingEarlier = false;
    this.notify();
  }

  /** `stored()` is called once the message outlives a reload. */
  async send(text, files = [], stored = () => {}) {
    const id = uuid();
    if (this.notice?.kind === 'error') this.notice = null;
    this.store.addLocal(id, text, files);
    this.unsent.add(id);
    await unsent.put(this.id, { id, text, files, at: Date.now() });
    stored();
    await this.deliver(id, text, files);
  }

  // Shows the messages that this browser sent and the daemon never confirmed: they can be sent again.
  async showUnsent() {
    for (const { id, text, files } of await unsent.of(this.id)) {
      if (this.closed || this.unsent.has(id)) continue;
      this.unsent.add(id);
      if (this.store.get(id)) this.arrived([{ id }]);
      else this.store.addUnsent(id, text, files);
    }
  }

  // Messages that the daemon has need not be kept here.
  arrived(messages) {
    for (const { id } of messages) if (this.unsent.delete(id)) unsent.remove(this.id, id);
  }

  /** Drops a message that was not sent. */
  discard(id) {
    if (this.store.get(id)?.local?.state !== 'failed') return;
    this.store.remove(id);
    this.arrived([{ id }]);
    this.notify();
  }

  /** Asks for another answer to the last question. */
  regenerate() {
    return this.attempt(() => api.regenerate(this.id));
  }

  /**
   * Where a message of a person stands: `queued` for a run of its own, `answering` while it is being answered,
   * `last` as the last question, or `earlier`.
   */
  placeOf(id) {
    if (this.waiting.has(id)) return 'queued';
    const { entries } = this.store;
    const at = entries.findIndex((entry) => entry.id === id);
    const later = entries.slice(at + 1).filter(({ id: other, message, local }) => !local && !this.waiting.has(other) && !message.metadata?.command);
    if (this.running && !later.some(({ message, live }) => message.role === 'assistant' && !live)) return 'answering';
    const isSaid = ({ message }) => message.role === 'user' && !message.metadata?.context;
    return !this.running && !later.some(isSaid) ? 'last' : 'earlier';
  }

  /**
   * Where other words for a message go: as `placeOf`, but `earlier` also where another message is queued, which the
   * daemon answers as soon as the run ends: it refuses the edit then.
   */
  editPlaceOf(id) {
    const place = this.placeOf(id);
    return place !== 'queued' && this.queued > 0 ? 'earlier' : place;
  }

  /**
   * Sends other words in the place of a message: here where it waits, is being answered or was the last question,
   * else in a new thread that begins with what was said before. Returns `{branch, files}`: the new thread, if there
   * is one, and the files of the message. Throws what the daemon refuses.
   */
  async resend(id, text) {
    if (this.editPlaceOf(id) === 'answering') {
      await api.stop(this.id);
      await this.until(() => !this.running || this.editPlaceOf(id) !== 'answering');
    }
    // Decided after the stop: another message may have been queued or begun meanwhile.
    if (this.editPlaceOf(id) === 'earlier') {
      const files = await this.filesOf(id);
      return { branch: await api.branch(this.id, id), files };
    }
    await api.editMessage(this.id, id, text);
    return { branch: null, files: [] };
  }

  /** The files of a message, as they can be sent again. */
  filesOf(id) {
    const parts = this.store.get(id)?.message.parts.filter((part) => part?.type === 'file') ?? [];
    const own = (url) => (url.startsWith('data:') ? url : api.file(url).then(dataUrl));
    return Promise.all(parts.map(async ({ filename, mediaType, url }) => ({ filename, mediaType, url: await own(url) })));
  }

  /** Waits until something is so, for as long as a stop may take. */
  async until(isSo) {
    const before = Date.now() + STOPS_WITHIN_MS;
    while (!isSo() && !this.closed && Date.now() < before) await new Promise((done) => setTimeout(done, 50));
  }

  /** Takes a message back that waits. */
  withdraw(id) {
    return this.attempt(() => api.withdraw(this.id, id));
  }

  // What the daemon refuses is told like its own errors.
  async attempt(act) {
    try {
      return await act();
    } catch (error) {
      this.notice = { kind: 'error', text: error.message || '' };
      this.notify();
      return undefined;
    }
  }

  /** Retries with the same id: if the first attempt did arrive, the daemon sees a duplicate. */
  retry(id) {
    const local = this.store.get(id)?.local;
    if (!local || local.state !== 'failed') return;
    this.store.markLocal(id, 'sending');
    this.deliver(id, local.text, local.files);
  }

  async deliver(id, text, files) {
    try {
      const answer = await api.send(this.id, id, text, files);
      this.arrived([{ id }]);
      this.store.confirmLocal(id, answer?.messageId);
    } catch (error) {
      const known = error instanceof ApiError;
      this.store.markLocal(id, 'failed', known ? { status: error.status, text: error.message } : { status: 0, text: '' });
    }
  }

  async stop() {
    if (!this.running || this.stopping) return;
    this.stopping = true;
    this.notify();
    try {
      await api.stop(this.id);
    } catch {
      this.stopping = false;
      this.notify();
    }
  }
}
