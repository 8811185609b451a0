// The approvals of all threads: how many wait, which they are, and what became
// of earlier ones. Knows nothing of the DOM.

import { api } from './api.js';
import { Source } from './source.js';

const HISTORY_LENGTH = 50;

export class Inbox extends Source {
  constructor(changed) {
    super(changed);
    this.pending = [];
    this.history = [];
    this.seen = '';
  }

  /** The thread list tells cheaply whether something may have changed. */
  heard(threads) {
    const waiting = threads.filter((thread) => thread.pendingApprovals > 0);
    const seen = JSON.stringify(waiting.map((thread) => [thread.threadId, thread.pendingApprovals, thread.updatedAt]));
    // The list and the questions are asked for one after the other: what was true in between is not the last word.
    const agreed = waiting.reduce((sum, thread) => sum + thread.pendingApprovals, 0) === this.pending.length;
    // A daemon that could not be reached is back: what it was asked is asked again.
    if (seen === this.seen && agreed && !this.failed) return;
    this.seen = seen;
    this.refresh();
  }

  async load() {
    const [pending, history] = await Promise.all([
      api.approvals({ state: 'pending' }),
      this.wantsHistory ? api.approvals({ state: 'decided', limit: HISTORY_LENGTH }) : this.history,
    ]);
    // The oldest first: it has waited longest.
    this.pending = pending.reverse();
    this.history = history;
  }

  /** History is read only while somebody looks at it. */
  want(history) {
    this.wantsHistory = history;
    return this.refresh();
  }
}
