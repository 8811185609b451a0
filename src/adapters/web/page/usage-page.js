// The page of usage: totals with the cached and the uncertain share, a chart over time, and bars by model,
// conversation, person, task and purpose. Bars are drawn with CSS; the numbers stand beside them.

import { problemWords } from './controls.js';
import { h, setText } from './dom.js';
import { language, personName, t } from './strings.js';
import { threadHash } from './threads-view.js';
import { percent, RANGES, shortAmount, Usage, withGaps } from './usage.js';

// Further rows are summed up in one.
const MOST_BARS = 12;

const count = (number) => new Intl.NumberFormat(language() === 'zh' ? 'zh-CN' : 'en-GB').format(number);

// That of the settings, as the last report told it.
let currency = { name: 'USD', per_dollar: 1_000_000 };

/** The cost of sums in words: an estimate is "about", an unknown price is never nothing. */
function costWords(sums) {
  const amount = shortAmount(sums.costMicros ?? 0, currency.per_dollar);
  const words = { amount, currency: currency.name };
  if (sums.unknownPrice > 0) return sums.costMicros > 0 ? t('usageAtLeast', words) : t('usageUnpriced');
  return t(sums.estimated > 0 || sums.uncertainMicros > 0 || sums.suspect > 0 ? 'usageAbout' : 'usageCost', words);
}

const tokensOf = (sums) => (sums.in ?? 0) + (sums.out ?? 0);
const tokenWords = (sums) => t('usageTokens', { count: count(tokensOf(sums)) });

function select(testid, label, options, value, onchange) {
  const el = h('select', { class: 'scope', 'data-testid': testid, 'aria-label': label, onchange: () => onchange(el.value) },
    ...options.map(([key, words]) => h('option', { value: key, text: words, selected: key === value })));
  return el;
}

/** A bar of this share of its track. The security policy allows no style attributes. */
function bar(share, props, ...children) {
  const el = h('i', props, ...children);
  el.style.setProperty('--share', String(share));
  return el;
}

function tile(testid, name, value, more) {
  return h('div', { class: 'usage-tile', 'data-testid': testid }, h('dt', { text: name }), h('dd', null, h('b', { text: value }), more ? h('span', { text: more }) : null));
}

export class UsagePage {
  constructor(body) {
    this.usage = new Usage(() => this.render());
    this.measure = 'cost';
    this.failed = h('p', { class: 'panel-alarm', role: 'alert', 'data-testid': 'usage-failed', hidden: true });
    const ranges = RANGES.map((range) => [range, t('usageRanges')[range]]);
    const measures = ['cost', 'tokens'].map((measure) => [measure, t('usageMeasures')[measure]]);
    this.controls = h('div', { class: 'usage-controls' },
      select('usage-range', t('usageRange'), ranges, this.usage.range, (range) => this.usage.choose(range)),
      select('usage-measure', t('usageMeasure'), measures, this.measure, (measure) => {
        this.measure = measure;
        this.render();
      }));
    this.content = h('div', { 'data-testid': 'usage-content' });
    body.append(h('p', { class: 'panel-about', text: t('usageIntro') }), this.controls, this.failed, this.content);
  }

  show() {
    this.usage.refresh();
  }

  heard(name) {
    // Usage changes when turns end.
    if (name === 'thread' || name === 'snapshot') this.usage.refresh();
  }

  weight(sums) {
    return this.measure === 'cost' ? (sums.costMicros ?? 0) : tokensOf(sums);
  }

  words(sums) {
    return this.measure === 'cost' ? costWords(sums) : tokenWords(sums);
  }

  render() {
    const { failed, report } = this.usage;
    this.failed.hidden = !failed;
    setText(this.failed, failed ? problemWords(failed) : '');
    if (!report) return;
    const key = JSON.stringify([report, this.measure]);
    if (this.shown === key) return;
    this.shown = key;
    currency = report.currency ?? currency;
    const [time, ...groups] = report.reports;
    const { total } = time;
    const parts = [this.totals(total, time.open)];
    if (total.calls === 0) parts.push(h('p', { class: 'panel-note', 'data-testid': 'usage-none', text: t('usageNone') }));
    else parts.push(this.overTime(time.by), ...groups.map((group) => this.group(group)).filter(Boolean));
    this.content.replaceChildren(...parts);
  }

  totals(total, open) {
    const cached = percent(total.inCached ?? 0, total.in ?? 0);
    const uncertain = percent(total.uncertainMicros ?? 0, total.costMicros ?? 0);
    return h('dl', { class: 'usage-tiles' },
      tile('usage-total', t('usageTotal'), costWords(total), t('usageCalls', { count: count(total.calls) })),
      tile('usage-in', t('usageIn'), count(total.in ?? 0), ''),
      tile('usage-out', t('usageOut'), count(total.out ?? 0), ''),
      tile('usage-cached', t('usageCached'), cached === null ? '–' : `${cached}%`, t('usageCachedHint')),
      tile('usage-uncertain', t('usageUncertain'), uncertain === null ? '–' : `${uncertain}%`, open > 0 ? t('usageOpen', { count: open }) : t('usageUncertainHint')));
  }

  /** Columns over time, and the same numbers as a table. */
  overTime(by) {
    const rows = withGaps(this.usage.report, by);
    const most = Math.max(1, ...rows.map((row) => this.weight(row)));
    const columns = rows.map((row) => bar(this.weight(row) / most, { title: `${row.key}: ${this.words(row)}` }));
    const table = h('table', { class: 'usage-table', 'data-testid': 'usage-table' },
      h('thead', null, h('tr', null, ...[t('usageBy')[by], t('usageTotal'), t('usageCallsHead'), t('usageIn'), t('usageOut')].map((head) => h('th', { scope: 'col', text: head })))),
      h('tbody', null, ...rows.filter((row) => row.calls > 0).map((row) => h('tr', null,
        h('th', { scope: 'row', text: row.key }), ...[costWords(row), count(row.calls), count(row.in), count(row.out)].map((text) => h('td', { text }))))));
    return h('section', { class: 'panel-section', 'aria-label': t('usageBy')[by], 'data-testid': `usage-by-${by}` },
      h('h3', { text: t('usageBy')[by] }),
      h('div', { class: 'usage-columns', 'aria-hidden': 'true' }, ...columns),
      h('p', { class: 'usage-ends', 'aria-hidden': 'true' }, h('span', { text: rows[0]?.key ?? '' }), h('span', { text: rows.at(-1)?.key ?? '' })),
      h('details', { class: 'usage-details' }, h('summary', { 'data-testid': 'usage-as-table', text: t('usageAsTable') }), h('div', { class: 'usage-scroll', tabindex: '0', role: 'region', 'aria-label': t('usageAsTable') }, table)));
  }

  name({ by, key, title }) {
    if (key === '') return h('span', { text: t('usageNoKey')[by] ?? t('usageOther') });
    if (by === 'thread') return h('a', { href: threadHash(key), text: title || key });
    if (by === 'task') return h('a', { href: `#/tasks/${encodeURIComponent(key)}`, text: key });
    if (by === 'person') return h('span', { text: personName(key) });
    if (by === 'purpose') return h('span', { text: t('usagePurposes')[key] ?? key });
    return h('span', { text: key });
  }

  /** Bars of one group, the dearest first. Nothing where no call belongs to any. */
  group({ by, rows, more }) {
    if (rows.every((row) => row.key === '')) return null;
    const sorted = [...rows].sort((one, other) => this.weight(other) - this.weight(one));
    const most = Math.max(1, ...rows.map((row) => this.weight(row)));
    const bars = sorted.slice(0, MOST_BARS).map((row) => h('li', { 'data-testid': 'usage-bar', 'data-key': row.key },
      h('div', { class: 'usage-name' }, this.name({ by, ...row }), h('span', { class: 'usage-value', text: this.words(row) })),
      h('div', { class: 'usage-track', 'aria-hidden': 'true' }, bar(this.weight(row) / most, null, this.doubt(row)))));
    const rest = Math.max(0, rows.length - MOST_BARS) + (more ?? 0);
    return h('section', { class: 'panel-section', 'aria-label': t('usageBy')[by], 'data-testid': `usage-by-${by}` },
      h('h3', { text: t('usageBy')[by] }),
      h('ol', { class: 'usage-bars' }, ...bars),
      rest > 0 ? h('p', { class: 'panel-note', text: t('usageMore', { count: rest }) }) : null);
  }

  /** The uncertain part of a bar of cost, or the cached part of a bar of tokens. */
  doubt(row) {
    const [part, whole] = this.measure === 'cost' ? [row.uncertainMicros ?? 0, row.costMicros ?? 0] : [row.inCached ?? 0, tokensOf(row)];
    return whole > 0 && part > 0 ? bar(part / whole, { class: 'usage-part' }) : null;
  }
}
