// What calls of models used and cost. Knows nothing of the DOM.

import { api } from './api.js';
import { Source } from './source.js';

export const RANGES = ['week', 'month', 'year'];
const GROUPS = ['model', 'thread', 'person', 'task', 'purpose'];
const DAY_MS = 86_400_000;

export class Usage extends Source {
  constructor(changed) {
    super(changed);
    this.range = 'month';
    /** @type {any} sums by time and by each group, or null until the daemon answered */
    this.report = null;
  }

  choose(range) {
    this.range = range;
    return this.refresh();
  }

  async load() {
    const { range } = this;
    const time = range === 'year' ? 'month' : 'day';
    const query = { by: [time, ...GROUPS].join(',') };
    if (range === 'week') query.since = dayOf(Date.now() - 6 * DAY_MS, this.report?.timezone);
    const report = await api.usage(query);
    if (range === this.range) this.report = report;
  }
}

/** The date of a time in a time zone, as `2026-11-18`. */
export function dayOf(ms, timeZone) {
  return new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit', timeZone: timeZone || undefined }).format(ms);
}

/** The rows of a report by day or month, with those in between on which nothing was used. */
export function withGaps(report, by, now = Date.now()) {
  const known = new Map((report.reports.find((one) => one.by === by)?.rows ?? []).map((row) => [row.key, row]));
  const length = by === 'month' ? 7 : 10;
  const last = dayOf(now, report.timezone).slice(0, length);
  const rows = [];
  // Noon in UTC is the same date whatever the clocks do.
  const at = new Date(`${dayOf(Date.parse(report.since), report.timezone)}T12:00:00Z`);
  for (let key = ''; key < last && rows.length < 400;) {
    key = at.toISOString().slice(0, length);
    rows.push(known.get(key) ?? { key, calls: 0, in: 0, out: 0, costMicros: 0 });
    if (by === 'month') at.setUTCMonth(at.getUTCMonth() + 1, 1);
    else at.setUTCDate(at.getUTCDate() + 1);
  }
  return rows;
}

/** Millionths of a dollar in a currency, for people: two digits, more for small sums; the same as on the command line. */
export function shortAmount(dollars, perDollar = 1_000_000) {
  const micros = Math.floor((dollars * perDollar) / 1_000_000);
  if (micros === 0 || micros >= 10_000) return (Math.floor((micros + 5_000) / 10_000) / 100).toFixed(2);
  return `0.${String(micros).padStart(6, '0')}`.replace(/0+$/, '');
}

/** A part of a whole in whole percent; null where there is no whole. */
export const percent = (part, whole) => (whole > 0 ? Math.floor((part * 100) / whole) : null);
