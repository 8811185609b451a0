// The approvals of all threads: how many wait, which they are, and what became
// of earlier ones. Knows nothing of the DOM.

import { api } from './api.js';

const HISTORY_LENGTH = 50;

export class Inbox {
  /** `changed()` after any change. */
  constructor(changed) {
    this.changed = changed;
    this.pending = [];
    this.history = [];
    this.failed = false;
    this.seen = '';
    this.asking = null;
  }

  /** The thread list tells cheaply whether something may have changed. */
  heard(threads) {
    const waiting = threads.filter((thread) => thread.pendingApprovals > 0);
    const seen = JSON.stringify(waiting.map((thread) => [thread.threadId, thread.pendingApprovals, thread.updatedAt]));
    if (seen === this.seen) return;
    this.seen = seen;
    this.refresh();
  }

  /** Asks the daemon; one question at a time, and once more if asked meanwhile. */
  refresh() {
    if (this.asking) {
      this.again = true;
      return this.asking;
    }
    this.asking = this.load().finally(() => {
      this.asking = null;
      if (this.again) {
        this.again = false;
        this.refresh();
      }
    });
    return this.asking;
  }

  async load() {
    try {
      const [pending, history] = await Promise.all([
        api.approvals({ state: 'pending' }),
        this.wantsHistory ? api.approvals({ state: 'decided', limit: HISTORY_LENGTH }) : this.history,
      ]);
      // The oldest first: it has waited longest.
      this.pending = pending.reverse();
      this.history = history;
      this.failed = false;
    } catch {
      this.failed = true;
    }
    this.changed();
  }

  /** History is read only while somebody looks at it. */
  want(history) {
    this.wantsHistory = history;
    return this.refresh();
  }
}
