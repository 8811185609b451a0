// The approvals of all threads: the pending ones, their number, and decided ones. Knows nothing of
// the DOM.

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

  /** The thread list shows cheaply whether something may have changed. */
  heard(threads) {
    const waiting = threads.filter((thread) => thread.pendingApprovals > 0);
    const seen = JSON.stringify(waiting.map((thread) => [thread.threadId, thread.pendingApprovals, thread.updatedAt]));
    // The thread list and the approvals are separate requests: they may disagree about changes in
    // between.
    const agreed = waiting.reduce((sum, thread) => sum + thread.pendingApprovals, 0) === this.pending.length;
    // After a failed request the approvals are fetched again.
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

  /** The history is fetched only while it is shown. */
  want(history) {
    this.wantsHistory = history;
    return this.refresh();
  }
}
