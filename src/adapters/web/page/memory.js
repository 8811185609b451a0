// What the agent remembers: the memory of one scope, its changes, and searching. Knows nothing of
// the DOM.

import { api } from './api.js';
import { Source } from './source.js';

export class Memory extends Source {
  constructor(changed) {
    super(changed);
    /** @type {string[]|null} the scopes that have memory; null until the daemon answered */
    this.scopes = null;
    this.scope = 'project';
    /** @type {any} the memory of the scope, or null */
    this.shown = null;
    /** @type {any[]} notes of earlier months, as far as they were asked for */
    this.earlier = [];
    this.lines = [];
    this.moreLines = false;
    this.damaged = 0;
    /** @type {any[]|null} */
    this.checkpoints = null;
  }

  look(scope) {
    if (scope !== this.scope) {
      this.shown = null;
      this.lines = [];
    }
    this.scope = scope;
    return this.refresh();
  }

  async load() {
    const { scope } = this;
    const [scopes, shown, ledger, checkpoints] = await Promise.all([
      api.memoryScopes(), api.memory(scope), api.ledger(scope), api.checkpoints(),
    ]);
    this.scopes = scopes.includes('project') ? scopes : ['project', ...scopes];
    this.checkpoints = checkpoints;
    if (scope !== this.scope) return;
    this.shown = shown;
    this.earlier = [];
    this.nextMonth = shown?.earlierNotes ?? null;
    this.lines = ledger.lines;
    this.moreLines = ledger.hasMore;
    this.damaged = ledger.damaged;
  }

  async loadEarlierNotes() {
    const { scope, nextMonth } = this;
    if (!nextMonth) return;
    const page = await api.memory(scope, nextMonth);
    if (scope !== this.scope || nextMonth !== this.nextMonth) return;
    this.earlier = [...this.earlier, ...(page?.notes ?? [])];
    this.nextMonth = page?.earlierNotes ?? null;
    this.changed();
  }

  async loadEarlierLines() {
    const { scope } = this;
    const last = this.lines.at(-1);
    if (!last) return;
    const page = await api.ledger(scope, last.seq);
    if (scope !== this.scope || this.lines.at(-1) !== last) return;
    this.lines = [...this.lines, ...page.lines];
    this.moreLines = page.hasMore;
    this.changed();
  }

  /** Sends a change of the scope that is shown. */
  async change(body) {
    try {
      return await api.changeMemory({ scope: this.scope, ...body });
    } finally {
      await this.refresh();
    }
  }
}

/** The newest line that undo takes back, as the daemon chooses it: not what a file's editor did, not a note that nobody has
 * seen, and not a newer date of the same text. */
export function undoable(lines) {
  const undone = new Set(lines.map((line) => line.undoes).filter((seq) => seq !== undefined));
  const unseen = (line) => !line.by && !line.via && (line.tier === 'notes' || line.op === 'edit');
  const same = (line) => line.op === 'replace' && line.before !== undefined && line.before === line.after;
  return lines.find((line) => line.undoes === undefined && !undone.has(line.seq) && !unseen(line) && !same(line)) ?? null;
}
