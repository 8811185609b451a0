// The page of the daemon's log and of the audit trail, newest first, with filters.

import { api } from './api.js';
import { attempt, button, problemLine } from './controls.js';
import { h, setAttr } from './dom.js';
import { moment, personName, t } from './strings.js';

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'];
const OUTCOMES = ['approved', 'denied', 'expired', 'cancelled', 'refused', 'ok', 'error', 'aborted', 'allow', 'ask', 'deny'];

// What a row shows by itself; everything else is in its details.
const HEAD = new Set(['timestamp', 'level', 'message', 'at', 'event', 'outcome', 'verdict']);

/** The fields of a line as text, without those of its head. */
export function detailsOf(line) {
  const rest = Object.entries(line).filter(([key]) => !HEAD.has(key));
  return rest.map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`).join('\n');
}

/** The query of filled fields. */
export function queryOf(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

function row(level, when, what, who, line) {
  const details = detailsOf(line);
  return h('li', { class: 'log-line', 'data-level': level, 'data-testid': 'log-line' },
    h('div', { class: 'log-head' },
      h('span', { class: 'log-level', text: level }), h('time', { class: 'log-time', text: when }),
      h('span', { class: 'log-what', text: what }), who ? h('span', { class: 'log-who', text: who }) : null,
      details ? h('details', null, h('summary', { text: t('logsDetails') }), h('pre', { tabindex: '0', text: details })) : null));
}

const logRow = (line) => row(String(line.level ?? '').toLowerCase(), moment(line.timestamp), String(line.message ?? ''), line.target ?? '', line);

const auditRow = (line) => row(line.outcome ?? line.verdict ?? '—', moment(line.at), [line.event, line.tool, line.number].filter(Boolean).join(' · '), line.author ? personName(line.author) : '', line);

export class LogsPage {
  constructor(body) {
    this.kind = 'daemon';
    this.problem = problemLine();
    this.list = h('ul', { class: 'log-list', 'data-testid': 'log-list' });
    this.none = h('p', { class: 'panel-none', role: 'status', 'data-testid': 'log-none', text: t('logsNone'), hidden: true });
    this.older = h('button', { type: 'button', class: 'quiet-button', 'data-testid': 'log-older', text: t('logsOlder'), hidden: true, onclick: () => this.more() });
    this.form = h('form', {
      class: 'log-filter', 'data-testid': 'log-filter',
      onsubmit: (event) => {
        event.preventDefault();
        this.load();
      },
    });
    this.tabs = [['daemon', t('logsDaemon')], ['audit', t('logsAudit')]].map(([name, label]) => h('a',
      { class: 'panel-tab', href: name === 'daemon' ? '#/logs' : '#/logs/audit', 'data-tab': name, 'data-testid': `logs-${name}` }, h('b', { text: label })));
    this.el = h('div', null, h('p', { class: 'panel-about', text: t('logsAbout') }), h('nav', { class: 'panel-tabs' }, this.tabs), this.form, this.problem, this.list, this.none, this.older);
    body.append(this.el);
  }

  show(rest) {
    this.kind = rest === 'audit' ? 'audit' : 'daemon';
    for (const tab of this.tabs) setAttr(tab, 'aria-current', tab.dataset.tab === this.kind ? 'page' : null);
    this.buildForm();
    this.load();
  }

  buildForm() {
    const field = (name, label, control) => h('label', { class: 'field' }, h('span', { text: label }), (setAttr(control, 'name', name), setAttr(control, 'data-testid', `log-${name}`), control));
    const input = () => h('input', { class: 'text-input', type: 'text', spellcheck: 'false', autocomplete: 'off' });
    const choice = (first, options, name) => h('select', { class: 'scope' }, h('option', { value: '', text: first }), ...options.map((value) => h('option', { value, text: name(value) })));
    const since = field('since', t('logsSince'), h('input', { class: 'text-input', type: 'datetime-local' }));
    const thread = field('thread', t('logsThread'), input());
    const fields = this.kind === 'audit'
      ? [field('outcome', t('logsOutcome'), choice(t('logsAny'), OUTCOMES, (value) => value)), field('event', t('logsEvent'), input()), field('author', t('logsPerson'), input()), field('tool', t('logsTool'), input())]
      : [field('level', t('logsLevel'), choice(t('logsAnyLevel'), LEVELS, (level) => t('logsFromLevel', { level }))), field('q', t('logsText'), input())];
    const show = button('approve', t('logsShow'), { testid: 'log-show' });
    setAttr(show, 'type', 'submit');
    this.form.replaceChildren(...fields, thread, since, show);
  }

  query() {
    const fields = Object.fromEntries([...new FormData(this.form)].map(([key, value]) => [key, String(value).trim()]));
    // The field has local time.
    if (fields.since) fields.since = new Date(fields.since).toISOString();
    return queryOf(fields);
  }

  load() {
    this.list.replaceChildren();
    this.next = null;
    return this.fetch();
  }

  more() {
    return this.fetch();
  }

  async fetch() {
    const audit = this.kind === 'audit';
    // Before the fields are disabled: disabled ones have no values in a form.
    const query = this.query();
    await attempt(this.form, this.problem, async () => {
      const position = audit ? { skip: String(this.list.childElementCount) } : queryOf({ before: this.next ?? '' });
      const page = audit ? await api.audit({ ...query, ...position }) : await api.logs({ ...query, ...position });
      // Another tab was opened meanwhile.
      if ((this.kind === 'audit') !== audit) return;
      this.list.append(...page.lines.map(audit ? auditRow : logRow));
      this.next = page.next ?? null;
      this.older.hidden = audit ? !page.more : this.next === null;
      this.none.hidden = this.list.childElementCount > 0 || !this.older.hidden;
    });
  }
}
