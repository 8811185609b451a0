// The page of the daemon's health: its platforms, the checks of the doctor on request, and a backup.

import { api } from './api.js';
import { attempt, button, problemLine } from './controls.js';
import { h, icon, setText } from './dom.js';
import { channelName, t } from './strings.js';

const ICONS = { ok: 'ok', warning: 'error', error: 'denied' };

export class HealthPage {
  constructor(body) {
    this.problem = problemLine();
    this.adapters = h('ul', { class: 'panel-list', 'data-testid': 'health-adapters' });
    this.model = h('p', { class: 'panel-about', 'data-testid': 'health-model' });
    this.result = h('p', { class: 'panel-about', role: 'status', 'data-testid': 'health-result' });
    this.checks = h('ul', { class: 'check-list', 'data-testid': 'health-checks' });
    this.run = button('approve', t('healthRun'), { testid: 'health-run', onclick: () => this.check() });
    this.el = h('div', null,
      h('p', { class: 'panel-about', text: t('healthAbout') }), this.model,
      h('section', { class: 'panel-section' }, h('h3', { text: t('healthAdapters') }), this.adapters),
      h('section', { class: 'panel-section' }, h('h3', { text: t('healthChecks') }), h('p', { class: 'panel-about', text: t('healthChecksAbout') }),
        h('div', { class: 'answers' }, this.run), this.problem, this.result, this.checks));
    this.backupProblem = problemLine();
    this.backup = button('keep', t('backupDownload'), { testid: 'backup-download', onclick: () => this.download() });
    this.el.append(h('section', { class: 'panel-section' }, h('h3', { text: t('backup') }), h('p', { class: 'panel-about', text: t('backupAbout') }),
      h('div', { class: 'answers' }, this.backup), this.backupProblem));
    body.append(this.el);
  }

  show() {
    this.load();
  }

  // The daemon sends its health with the first event, and whenever it changes.
  heard(name) {
    if (name === 'info' || name === 'hello') this.load();
  }

  tick() {
    this.load();
  }

  async load() {
    const info = await api.info().catch(() => null);
    if (!info) return;
    setText(this.model, `${t('healthModel')}: ${info.model?.name ?? ''} (${info.model?.provider ?? ''}) · ${t('version', { version: info.version })}`);
    this.adapters.replaceChildren(...(info.adapters ?? []).map(({ name, state, detail }) => h('li', { class: 'entry', 'data-testid': 'health-adapter', 'data-state': state },
      h('div', { class: 'entry-main' }, h('strong', { text: channelName(name) }), detail ? h('p', { class: 'question-meta', text: detail }) : null),
      h('span', { class: 'status-chip', 'data-status': state === 'up' ? 'running' : state === 'failed' ? 'broken' : 'paused', text: t('adapterState')[state] ?? state }))));
  }

  download() {
    return attempt(this.el, this.backupProblem, async () => {
      const url = URL.createObjectURL(await api.backup());
      h('a', { href: url, download: `shipagent-${new Date().toISOString().slice(0, 10)}.tar` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    });
  }

  async check() {
    setText(this.result, t('healthRunning'));
    this.checks.replaceChildren();
    const done = await attempt(this.el, this.problem, async () => {
      const found = await api.checkup();
      const count = (status) => String(found.filter((one) => one.status === status).length);
      setText(this.result, t('healthResult', { errors: count('error'), warnings: count('warning') }));
      this.checks.replaceChildren(...found.map(({ check, status, message, fix }) => h('li', { class: 'check', 'data-status': status, 'data-testid': 'health-check' },
        h('span', { class: 'check-mark', role: 'img', 'aria-label': t('healthStatus')[status] ?? status }, icon(ICONS[status] ?? 'error')),
        h('div', null, h('p', null, h('strong', { text: check }), ` ${message}`), fix ? h('p', { class: 'question-meta', text: fix }) : null))));
    });
    if (!done) setText(this.result, '');
  }
}
