// The pages beside the conversations: their links in the sidebar, their addresses, and which one is
// open.

import { decoded, h, icon, setAttr, setText } from './dom.js';
import { HealthPage } from './health-page.js';
import { InstructionsPage } from './instructions-page.js';
import { LogsPage } from './logs-page.js';
import { MemoryPage } from './memory-page.js';
import { SetupPage } from './setup-page.js';
import { SettingsPage } from './settings-page.js';
import { t } from './strings.js';
import { TasksPage } from './tasks-page.js';
import { UsagePage } from './usage-page.js';

/**
 * Every page, in the order of the sidebar; a new page is one line here. `name` is its address
 * (`#/name`) and its phrase in `pages`, `icon` one of dom.js. `new Page(body)` builds it;
 * `show(rest)` is called when it is opened at `#/name/rest`, `heard(name, data)` for each event of
 * the daemon, `tick()` now and then, so that ages stay true. The last two may be missing. A page with
 * `when(info)` is listed only while that is true.
 * @type {{name: string, icon: string, Page: any, when?: (info: any) => boolean}[]}
 */
const PAGES = [
  { name: 'setup', icon: 'flag', Page: SetupPage, when: (info) => Boolean(info?.onboarding) },
  { name: 'tasks', icon: 'clock', Page: TasksPage },
  { name: 'memory', icon: 'book', Page: MemoryPage },
  { name: 'usage', icon: 'chart', Page: UsagePage },
  { name: 'instructions', icon: 'file', Page: InstructionsPage },
  { name: 'settings', icon: 'settings', Page: SettingsPage },
  { name: 'health', icon: 'pulse', Page: HealthPage },
  { name: 'logs', icon: 'list', Page: LogsPage },
];

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

export class Pages {
  /** `changed()` is called when a page was opened or closed. */
  constructor(changed) {
    this.changed = changed;
    /** The open page, or null. */
    this.open = null;
    this.rest = '';
    this.view = null;
    this.info = null;
    this.links = new Map();
    for (const { name, icon: picture } of PAGES) {
      const link = h('a', { class: 'page-link', href: `#/${name}`, 'data-testid': `page-${name}` }, icon(picture), h('span'));
      this.links.set(name, link);
      $('pages').append(h('li', null, link));
    }
    this.inform(null);
  }

  /** What the daemon says of itself decides which pages there are. */
  inform(info) {
    this.info = info;
    for (const { name, when } of PAGES) this.links.get(name).parentElement.hidden = when !== undefined && !when(info);
  }

  /** Every page with its name in the chosen language. */
  all() {
    const listed = PAGES.filter(({ when }) => !when || when(this.info));
    return listed.map(({ name, icon: picture }) => ({ name, icon: picture, title: t('pages')[name] }));
  }

  get isOpen() {
    return this.open !== null;
  }

  get title() {
    return this.isOpen ? t('pages')[this.open.name] : '';
  }

  /** Opens the page that the hash names. Returns false where it names none. */
  route(hash) {
    const [, name, rest = ''] = /^#\/([a-z]+)(?:\/(.*))?$/.exec(hash) ?? [];
    const wanted = PAGES.find((page) => page.name === name);
    if (!wanted) {
      this.close();
      return false;
    }
    const other = this.open !== wanted;
    this.rest = decoded(rest);
    if (other) {
      this.open = wanted;
      this.build();
    }
    this.view.show(this.rest);
    this.render();
    $('page').scrollTop = 0;
    if (other) $('page-title').focus({ preventScroll: true });
    this.changed();
    return true;
  }

  close() {
    if (!this.isOpen) return;
    this.open = null;
    this.view = null;
    $('page-body').replaceChildren();
    this.render();
    this.changed();
  }

  build() {
    const body = h('div');
    $('page-body').replaceChildren(body);
    this.view = new this.open.Page(body);
  }

  /** Rebuilds everything, for another language. */
  reset() {
    if (this.isOpen) {
      this.build();
      this.view.show(this.rest);
    }
    this.render();
  }

  render() {
    $('page').hidden = !this.isOpen;
    for (const part of ['stage', 'dock']) $(part).hidden = this.isOpen;
    setText($('page-title'), this.title);
    for (const [name, link] of this.links) {
      setText(link.lastElementChild, t('pages')[name]);
      setAttr(link, 'aria-current', this.open?.name === name ? 'page' : null);
    }
  }

  heard(name, data) {
    this.view?.heard?.(name, data);
  }

  tick() {
    this.view?.tick?.();
  }
}
