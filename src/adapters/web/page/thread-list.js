// The list of threads: the newest ones from the event stream, earlier ones page by page, or those
// that a search found. Knows nothing of the DOM.

/**
 * @typedef {object} ThreadRow
 * @property {string} threadId
 * @property {string} state
 * @property {string} title
 * @property {string} updatedAt
 * @property {number} messageCount
 * @property {number} pendingApprovals
 * @property {boolean} [pinned]
 * @property {boolean} [archived]
 * @property {{id: string, at: number, author: string, text: string}} [snippet]
 */

const time = (row) => Date.parse(row.updatedAt) || 0;

/** Pinned ones first, then the newest; among those of one moment any fixed order. */
function byTime(one, other) {
  return Number(other.pinned ?? false) - Number(one.pinned ?? false) || time(other) - time(one) || (one.threadId < other.threadId ? -1 : 1);
}

/** A page as it is listed; what is archived shows only while it is at work. */
const listed = (row) => !row.archived || row.state !== 'idle';

export class ThreadList {
  /**
   * @param {(before: string, query: Record<string, string>) => Promise<{threads: ThreadRow[], nextBefore: string|null}>} fetchPage
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
    /** @type {{query: Record<string, string>, rows: ThreadRow[], next: string|null}|null} what a search found */
    this.found = null;
    this.searches = 0;
  }

  /** What is shown: the found threads during a search. */
  get shown() {
    return this.found ? this.found.rows : this.rows.filter(listed);
  }

  get hasMore() {
    return (this.found ? this.found.next : this.next) !== null;
  }

  /** @param {string} threadId */
  get(threadId) {
    return this.rows.find((row) => row.threadId === threadId) ?? this.found?.rows.find((row) => row.threadId === threadId);
  }

  /**
   * The newest page, whole, with the pinned threads. Earlier pages that are here stay; what was
   * newer and is not in it any more goes.
   * @param {ThreadRow[]} threads
   * @param {string|null} next
   * @param {ThreadRow[]} pinned
   */
  snapshot(threads, next, pinned = []) {
    const ids = new Set(threads.map((row) => row.threadId));
    const last = threads.at(-1);
    const earlier = this.pages > 0 && last && next
      ? this.rows.filter((row) => !row.pinned && !ids.has(row.threadId) && time(row) <= time(last))
      : [];
    const old = pinned.filter((row) => !ids.has(row.threadId));
    this.rows = [...threads, ...old, ...earlier].sort(byTime);
    if (earlier.length === 0) {
      this.next = next;
      this.pages = 0;
    }
    this.changed();
  }

  /** @param {ThreadRow} row a thread that changed */
  upsert(row) {
    this.rows = [...this.rows.filter((known) => known.threadId !== row.threadId), row].sort(byTime);
    if (this.found) {
      const { rows, query } = this.found;
      // An archived thread leaves the list of the archive when it is taken out of it.
      const stays = query.state !== 'archived' || row.archived;
      this.found.rows = rows.flatMap((known) => (known.threadId !== row.threadId ? [known] : stays ? [{ ...row, snippet: known.snippet }] : []));
    }
    this.changed();
  }

  /** @param {string} threadId a thread that was deleted */
  remove(threadId) {
    this.rows = this.rows.filter((row) => row.threadId !== threadId);
    if (this.found) this.found.rows = this.found.rows.filter((row) => row.threadId !== threadId);
    this.changed();
  }

  /**
   * Shows what a query finds; an empty query ends the search. The answer to an older query is
   * dropped.
   * @param {Record<string, string>} query
   */
  async search(query) {
    const number = ++this.searches;
    if (Object.keys(query).length === 0) {
      this.found = null;
      this.failed = false;
      this.changed();
      return;
    }
    this.loading = true;
    this.failed = false;
    this.changed();
    try {
      const { threads, nextBefore } = await this.fetchPage('', query);
      if (number !== this.searches) return;
      this.found = { query, rows: threads, next: nextBefore };
    } catch {
      if (number !== this.searches) return;
      this.failed = true;
    }
    this.loading = false;
    this.changed();
  }

  /** Loads the next page; one at a time. */
  async more() {
    const { found } = this;
    const before = found ? found.next : this.next;
    if (this.loading || before === null) return;
    this.loading = true;
    this.failed = false;
    this.changed();
    try {
      const { threads, nextBefore } = await this.fetchPage(before, found?.query ?? {});
      if (found) {
        const ids = new Set(found.rows.map((row) => row.threadId));
        found.rows = [...found.rows, ...threads.filter((row) => !ids.has(row.threadId))];
        found.next = nextBefore;
      } else if (this.next === before) {
        // A snapshot may have replaced the list meanwhile.
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
