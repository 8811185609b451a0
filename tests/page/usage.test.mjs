// What the page of usage computes from the daemon's sums.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { dayOf, percent, shortAmount, withGaps } from '../../src/adapters/web/page/usage.js';

test('sums of money are rounded as on the command line', () => {
  const cases = [[0, '0.00'], [1, '0.000001'], [1_200, '0.0012'], [9_999, '0.009999'], [10_000, '0.01'], [1_234_567, '1.23'], [995_000, '1.00']];
  for (const [micros, text] of cases) assert.equal(shortAmount(micros), text);
  assert.equal(shortAmount(1_500_000, 7_200_000), '10.80');
});

test('days and months without usage are shown as well', () => {
  const row = (key) => ({ key, calls: 1, in: 5, out: 1, costMicros: 7 });
  const report = (by, since, keys) => ({ since, timezone: 'Asia/Shanghai', reports: [{ by, rows: keys.map(row) }] });
  const now = Date.parse('2026-11-18T17:00:00Z');
  const days = withGaps(report('day', '2026-11-15T16:00:00Z', ['2026-11-17']), 'day', now);
  assert.deepEqual(days.map(({ key, calls }) => [key, calls]), [['2026-11-16', 0], ['2026-11-17', 1], ['2026-11-18', 0], ['2026-11-19', 0]]);
  const months = withGaps(report('month', '2026-08-31T16:00:00Z', ['2026-11']), 'month', now);
  assert.deepEqual(months.map(({ key }) => key), ['2026-09', '2026-10', '2026-11']);
});

test('a share of nothing is none', () => {
  assert.equal(percent(0, 0), null);
  assert.equal(percent(399, 1000), 39);
  assert.equal(dayOf(Date.parse('2026-11-17T16:00:00Z'), 'Asia/Shanghai'), '2026-11-18');
});
