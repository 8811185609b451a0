// The list of threads: the newest ones from the event stream, earlier ones page by page. Knows
// nothing of the DOM.

/**
 * @typedef {object} ThreadRow
 * @property {string} threadId
 * @property {string} state
 * @property {string} title
 * @property {string} updatedAt
 * @property {number} messageCount
 * @property {number} pendingApprovals
 */

const time = (row) => Date.parse(row.updatedAt) || 0;

/** The newest first; among those of one moment any fixed order. */
function byTime(one, other) {
  return time(other) - time(one) || (one.threadId < other.threadId ? -1 : 1);
}

export class ThreadList {
  /**
   * @param {(before: string) => Promise<{threads: ThreadRow[], nextBefore: string|null}>} fetchPage
   * @param {() => void} changed called after any change
   */
  constructor(fetchPage, changed) {
    this.fetchPage = fetchPage;
    this.changed = changed;
    /** @type {ThreadRow[]} */
    this.rows = [];
    /** @type {string|null} where the next page begins, or null at the end */
    this.next = null;
    this.loading = false;
    this.failed = false;
    /** How many pages of earlier threads are here. */
    this.pages = 0;
  }

  /** @param {string} threadId */
  get(threadId) {
    return this.rows.find((row) => row.threadId === threadId);
  }

  /**
   * The newest page, whole. Earlier pages that are here stay; what was newer and
   * is not in it any more goes.
   * @param {ThreadRow[]} threads
   * @param {string|null} next
   */
  snapshot(threads, next) {
    const ids = new Set(threads.map((row) => row.threadId));
    const last = threads.at(-1);
    const earlier = this.pages > 0 && last && next
      ? this.rows.filter((row) => !ids.has(row.threadId) && time(row) <= time(last))
      : [];
    this.rows = [...threads, ...earlier].sort(byTime);
    if (earlier.length === 0) {
      this.next = next;
      this.pages = 0;
    }
    this.changed();
  }

  /** @param {ThreadRow} row a thread that changed */
  upsert(row) {
    this.rows = [...this.rows.filter((known) => known.threadId !== row.threadId), row].sort(byTime);
    this.changed();
  }

  /** Loads the next page; one at a time. */
  async more() {
    if (this.loading || this.next === null) return;
    const before = this.next;
    this.loading = true;
    this.failed = false;
    this.changed();
    try {
      const { threads, nextBefore } = await this.fetchPage(before);
      // A snapshot may have replaced the list meanwhile.
      if (this.next === before) {
        const ids = new Set(this.rows.map((row) => row.threadId));
        this.rows = [...this.rows, ...threads.filter((row) => !ids.has(row.threadId))].sort(byTime);
        this.next = nextBefore;
        this.pages += 1;
      }
    } catch {
      this.failed = true;
    }
    this.loading = false;
    this.changed();
  }
}
