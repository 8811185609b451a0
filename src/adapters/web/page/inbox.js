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
    /** The number of pending approvals, also while the panel is closed. */
    this.count = 0;
    this.wantsHistory = false;
  }

  /**
   * The daemon sent the number of pending approvals; they are fetched only while the panel is open.
   */
  heard(count, looking) {
    this.count = count;
    if (looking) this.refresh();
    else this.changed();
  }

  async load() {
    const [pending, history] = await Promise.all([
      api.approvals({ state: 'pending' }),
      this.wantsHistory ? api.approvals({ state: 'decided', limit: HISTORY_LENGTH }) : this.history,
    ]);
    // The oldest first: it has waited longest.
    this.pending = pending.reverse();
    this.count = pending.length;
    this.history = history;
  }

  /** The history is fetched only while it is shown. */
  want(history) {
    this.wantsHistory = history;
    return this.refresh();
  }
}
