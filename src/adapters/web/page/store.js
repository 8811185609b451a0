// The messages of the open thread, merged from four sources that overlap in time: history pages,
// committed messages, live chunks and the person's own unsent messages. DOM-free. The guarantee: no
// message is shown twice.

import { applyChunk, emptyMessage } from './reducer.js';

const ENDED = new Set(['done', 'stopped', 'failed']);
const isEnded = (message) => ENDED.has(message.metadata?.status);

// How much of a turn a copy holds; distinguishes an old snapshot from a new one.
function weight(message) {
  let sum = message.parts.length;
  for (const part of message.parts) if (typeof part.text === 'string') sum += part.text.length;
  return sum;
}

/** The data of a command's record, or null for any other message. */
export function commandOf(message) {
  const part = message?.parts?.length === 1 ? message.parts[0] : null;
  return part?.type === 'data-command' && part.data ? part.data : null;
}

const commandWord = (text) => String(text ?? '').trim().split(/[\s@]/, 1)[0].toLowerCase();

function wellFormed(message) {
  return typeof message?.id === 'string' && Array.isArray(message.parts);
}

export class MessageStore {
  /** `changed` is called after every change; entries carry a revision. */
  constructor(changed) {
    this.changed = changed;
    /** @type {{id: string, message: any, live: boolean, local: any, rev: number, touched: number, progress?: Map<string, string>}[]} */
    this.entries = [];
    this.byId = new Map();
    this.clock = 0;
  }

  get(id) {
    return this.byId.get(id);
  }

  /** Whether a question of this thread has no answer yet. */
  waits(approvalId) {
    const asks = (part) => part?.state === 'approval-requested' && part.approval?.id === approvalId;
    return this.entries.some((entry) => entry.message.parts.some(asks));
  }

  /** The oldest message that the daemon has: where an earlier page ends. */
  oldestId() {
    return this.entries.find((entry) => !entry.local && !entry.live)?.id ?? null;
  }

  make(id, message) {
    const entry = { id, message, live: false, local: null, rev: 0, touched: ++this.clock };
    this.byId.set(id, entry);
    return entry;
  }

  touch(entry) {
    entry.rev++;
    entry.touched = ++this.clock;
  }

  /** A committed message: replaces the one with its id, or is appended. */
  upsert(message) {
    if (!wellFormed(message)) return;
    let entry = this.byId.get(message.id);
    if (!entry) {
      this.settleCommand(message);
      entry = this.make(message.id, message);
      this.entries.push(entry);
    }
    this.adopt(entry, message);
    this.changed();
  }

  adopt(entry, message) {
    const runs = message.metadata?.status === 'running';
    // A snapshot of a running turn may be older than the chunks already here.
    if (!(runs && entry.live && weight(message) < weight(entry.message))) entry.message = message;
    entry.local = null;
    entry.live = runs;
    this.touch(entry);
  }

  chunk(messageId, chunk) {
    if (typeof messageId !== 'string' || !chunk) return;
    let entry = this.byId.get(messageId);
    if (!entry) {
      entry = this.make(messageId, emptyMessage(messageId));
      this.entries.push(entry);
    }
    // Late chunks of a turn whose record has arrived add nothing; only `start` means that the
    // message is written again.
    if (chunk.type !== 'start' && !entry.live && isEnded(entry.message)) return;
    entry.message = applyChunk(entry.message, chunk);
    entry.live = !isEnded(entry.message);
    this.touch(entry);
    this.changed();
  }

  /** The last progress of a running call. Kept beside the message: it is not part of it. */
  progress(toolCallId, text) {
    const entry = this.entries.findLast((known) => known.live && known.message.parts.some((part) => part?.toolCallId === toolCallId));
    if (!entry) return;
    entry.progress ??= new Map();
    entry.progress.set(toolCallId, text);
    this.touch(entry);
    this.changed();
  }

  /** The thread is idle: no message is live any more. */
  rest() {
    for (const entry of this.entries) {
      if (!entry.live) continue;
      entry.live = false;
      // Rendered again, but not newer than a page in flight: a turn that ended while the page was
      // not connected is known from that page alone.
      entry.rev++;
    }
    this.changed();
  }

  // --- the person's own messages, shown before the daemon has them ---

  addLocal(id, text, files = []) {
    const entry = this.make(id, {
      id,
      role: 'user',
      metadata: { timestamp: Date.now() },
      parts: [...(text ? [{ type: 'text', text }] : []), ...files.map((file) => ({ type: 'file', ...file }))],
    });
    entry.local = { state: 'sending', text, files, error: '' };
    this.entries.push(entry);
    this.changed();
  }

  /** A message of an earlier visit that the daemon never confirmed. */
  addUnsent(id, text, files) {
    this.addLocal(id, text, files);
    this.markLocal(id, 'failed', { status: -1, text: '' });
  }

  /** What can be done with a message has changed. */
  refresh(id) {
    const entry = this.byId.get(id);
    if (entry) entry.rev++;
  }

  /** @param {string} id @param {string} state @param {any} error */
  markLocal(id, state, error = '') {
    const entry = this.byId.get(id);
    // The committed message may have arrived first; it needs no mark.
    if (!entry?.local) return;
    entry.local = { ...entry.local, state, error };
    this.touch(entry);
    this.changed();
  }

  /** The daemon accepted the message, perhaps under an id of its own. */
  confirmLocal(id, messageId) {
    const entry = this.byId.get(id);
    if (messageId && messageId !== id && entry?.local) {
      if (this.byId.has(messageId)) {
        this.remove(id);
        this.changed();
        return;
      }
      this.byId.delete(id);
      entry.id = messageId;
      entry.message = { ...entry.message, id: messageId };
      this.byId.set(messageId, entry);
      id = messageId;
    }
    this.markLocal(id, 'sent');
  }

  // The local copy of a typed command is removed when its record arrives, if not before.
  settleCommand(message) {
    const command = commandOf(message);
    if (!command) return;
    const word = commandWord(command.command);
    const typed = this.entries.find(
      (entry) => entry.local && entry.local.state !== 'failed' && commandWord(entry.local.text) === word,
    );
    if (typed) this.remove(typed.id);
  }

  remove(id) {
    this.byId.delete(id);
    this.entries = this.entries.filter((entry) => entry.id !== id);
  }

  // --- history ---

  /**
   * Merges the newest page. `since` is the clock at the time of the request: later changes are
   * newer than the page. `running` keeps the live message.
   */
  mergeNewest(messages, { since, running, reset = false }) {
    const page = messages.filter(wellFormed);
    const ids = new Set(page.map((message) => message.id));
    const before = this.entries;
    const overlap = reset ? -1 : before.findIndex((entry) => ids.has(entry.id) && !entry.local);
    // Without a common message there is a gap in between; the page replaces all.
    const kept = overlap > 0 ? before.slice(0, overlap).filter((entry) => !ids.has(entry.id)) : [];

    const result = [...kept];
    for (const message of page) {
      let entry = this.byId.get(message.id);
      if (!entry) {
        this.settleCommand(message);
        entry = this.make(message.id, message);
        entry.live = message.metadata?.status === 'running' && running;
      } else if (entry.local || entry.touched <= since) {
        this.adopt(entry, message);
        if (!running && entry.live) entry.live = false;
      }
      result.push(entry);
    }

    // Entries that the page does not contain yet keep their place after their neighbour.
    const placed = new Set(result);
    let previous = null;
    for (const entry of before) {
      const alive = this.byId.get(entry.id) === entry;
      const fresh = entry.local || entry.touched > since || (entry.live && running);
      if (alive && !placed.has(entry) && fresh) {
        const at = previous ? result.indexOf(previous) + 1 : result.length;
        result.splice(at === 0 ? result.length : at, 0, entry);
        placed.add(entry);
      }
      if (placed.has(entry)) previous = entry;
    }
    this.entries = result;
    this.byId = new Map(result.map((entry) => [entry.id, entry]));
    this.changed();
    return { connected: overlap >= 0 };
  }

  /** Puts an earlier page in front. */
  prepend(messages) {
    const fresh = [];
    for (const message of messages.filter(wellFormed)) {
      if (!this.byId.has(message.id)) fresh.push(this.make(message.id, message));
    }
    this.entries = [...fresh, ...this.entries];
    this.changed();
    return fresh.length;
  }
}
