// The list of conversations in the sidebar, and the daemon's status below it.

import { h, icon, setAttr, setText } from './dom.js';
import { age, channelName, suggestions, t } from './strings.js';
import { channelOf } from './thread.js';

export const threadHash = (threadId) => `#/t/${encodeURIComponent(threadId).replaceAll('%3A', ':')}`;

const DAY_MS = 86_400_000;

/** The heading that a thread is listed under. */
function groupOf(thread) {
  if (thread.fresh) return 'today';
  if (thread.pinned) return 'pinned';
  const start = new Date().setHours(0, 0, 0, 0);
  const at = Date.parse(thread.updatedAt ?? '') || 0;
  if (at >= start) return 'today';
  if (at >= start - DAY_MS) return 'yesterday';
  if (at >= start - 7 * DAY_MS) return 'week';
  return at >= start - 30 * DAY_MS ? 'month' : 'earlier';
}

class ThreadItem {
  constructor(menu) {
    this.dot = h('span', { class: 'thread-dot' });
    this.title = h('span', { class: 'thread-title' });
    this.detail = h('span', { class: 'thread-detail' });
    this.time = h('span', { class: 'thread-time' });
    this.snippet = h('span', { class: 'thread-snippet', 'data-testid': 'thread-snippet', hidden: true });
    this.link = h('a', { class: 'thread', 'data-testid': 'thread-item' },
      this.title, this.dot, this.detail, this.time, this.snippet);
    this.menu = h('button', {
      type: 'button', class: 'icon-button thread-menu-button', 'data-testid': 'thread-menu-open', 'aria-haspopup': 'menu',
      onclick: () => menu(this.thread, this.menu),
    }, icon('more'));
    this.el = h('li', { class: 'thread-line' }, this.link, this.menu);
  }

  update(thread, current) {
    this.thread = thread;
    const channel = channelOf(thread.threadId);
    const waits = thread.state === 'awaiting-approval' || thread.pendingApprovals > 0;
    const state = waits ? 'awaiting-approval' : thread.state;
    const title = thread.title || t(thread.fresh ? 'newChat' : 'untitled');
    setAttr(this.link, 'href', threadHash(thread.threadId));
    setAttr(this.link, 'data-thread', thread.threadId);
    setAttr(this.link, 'data-state', state);
    setAttr(this.link, 'aria-current', current ? 'page' : null);
    setAttr(this.link, 'title', title);
    setText(this.title, title);
    const word = state === 'running' ? t('working') : waits ? t('awaiting') : '';
    setAttr(this.dot, 'title', word || null);
    // The state as text too: a coloured dot says nothing to a screen reader.
    setText(this.detail, [channel === 'web' ? '' : channelName(channel).replace(/^the /, ''), word].filter(Boolean).join(' · '));
    const at = Date.parse(thread.updatedAt ?? '');
    setText(this.time, Number.isFinite(at) ? age(at) : '');
    this.snippet.hidden = !thread.snippet;
    setText(this.snippet, thread.snippet?.text ?? '');
    this.menu.hidden = thread.fresh === true;
    setAttr(this.menu, 'aria-label', t('threadMenu', { title }));
  }
}

export class ThreadsView {
  /** `elements`: list, more, moreButton, none; `more()` loads earlier threads, `menu(thread, button)` opens a menu. */
  constructor(elements, { more, menu }) {
    this.menu = menu;
    this.none = elements.none;
    this.headings = new Map();
    this.list = elements.list;
    this.more = elements.more;
    this.moreButton = elements.moreButton;
    this.items = new Map();
    this.failed = false;
    this.list.addEventListener('keydown', (event) => this.onKey(event));
    this.moreButton.addEventListener('click', more);
    // Reaching the end loads more, unless the last try failed: then the button.
    new IntersectionObserver((seen) => {
      if (seen.some((entry) => entry.isIntersecting) && !this.failed) more();
    }, { root: this.list.parentElement, rootMargin: '0px 0px 240px 0px' }).observe(this.more);
  }

  /** @param {import('./thread-list.js').ThreadList} threads */
  renderMore({ hasMore, found, loading, failed }) {
    this.failed = failed;
    this.more.hidden = !hasMore && !(failed && found);
    this.none.hidden = !found || loading || failed || found.rows.length > 0;
    setText(this.moreButton, t(loading ? 'loadingEarlier' : failed ? 'earlierFailed' : 'moreThreads'));
    setAttr(this.moreButton, 'aria-busy', loading ? 'true' : null);
  }

  /** With `fresh`, `currentId` is listed even before the daemon has the thread. */
  render(threads, currentId, fresh) {
    const shown = threads.some((thread) => thread.threadId === currentId) || !currentId || !fresh
      ? threads
      : [...threads.filter((thread) => thread.pinned), { threadId: currentId, title: '', state: 'idle', fresh: true }, ...threads.filter((thread) => !thread.pinned)];
    const alive = new Set();
    const groups = new Set();
    let at = this.list.firstChild;
    let group = '';
    for (const thread of shown) {
      if (groupOf(thread) !== group) {
        group = groupOf(thread);
        const heading = this.heading(group);
        groups.add(group);
        if (heading === at) at = at.nextSibling;
        else this.list.insertBefore(heading, at);
      }
      let item = this.items.get(thread.threadId);
      if (!item) {
        item = new ThreadItem(this.menu);
        this.items.set(thread.threadId, item);
      }
      item.update(thread, thread.threadId === currentId);
      alive.add(thread.threadId);
      // Moving a focused link would drop the focus; it is moved later.
      if (item.el === at) at = at.nextSibling;
      else if (item.el.contains(document.activeElement) && item.el.isConnected) continue;
      else this.list.insertBefore(item.el, at);
    }
    for (const [id, item] of this.items) {
      if (alive.has(id)) continue;
      item.el.remove();
      this.items.delete(id);
    }
    for (const [name, heading] of this.headings) if (!groups.has(name)) heading.remove();
  }

  heading(group) {
    let heading = this.headings.get(group);
    if (!heading) {
      heading = h('li', { class: 'thread-group', 'data-group': group });
      this.headings.set(group, heading);
    }
    setText(heading, t('threadGroups')[group]);
    return heading;
  }

  onKey(event) {
    const links = [...this.list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (next === undefined || at < 0) return;
    event.preventDefault();
    links[Math.max(0, Math.min(links.length - 1, next))]?.focus();
  }
}

/** The footer of the sidebar: channels with their state, the version, and the sign-out button. */
export function renderFoot(foot, info, signOut) {
  const adapters = Array.isArray(info?.adapters) ? info.adapters : [];
  foot.replaceChildren(
    ...(adapters.length
      ? [h('ul', { class: 'adapters', 'aria-label': t('adapters') }, adapters.map((adapter) =>
        h('li', { 'data-state': adapter.state, title: adapter.detail || null },
          h('span', { class: 'adapter-dot' }),
          h('span', { class: 'adapter-name', text: String(adapter.name) }),
          h('span', { class: 'adapter-state', text: t('adapterState')[adapter.state] ?? String(adapter.state ?? '') }))))]
      : []),
    ...sandboxLine(info?.sandbox),
    h('div', { class: 'foot-line' },
      info?.version ? h('p', { class: 'version', text: t('version', { version: info.version }) }) : null,
      info ? h('button', { type: 'button', class: 'foot-button', 'data-testid': 'sign-out', text: t('signOut'), onclick: signOut }) : null));
}

// The sandbox of commands; empty until the daemon knows it.
function sandboxLine(sandbox) {
  if (!sandbox) return [];
  const { level, required, reasons } = sandbox;
  const key = level === 'unavailable' && required ? 'required' : level;
  return [h('p', { class: 'sandbox', 'data-testid': 'sandbox', 'data-level': level, title: (reasons ?? []).join('; ') || null },
    h('span', { class: 'adapter-dot' }), h('span', { text: t('sandbox')[key] ?? String(level) }))];
}

/** The empty conversation: a greeting and suggestions. */
export function renderWelcome(section, name, say) {
  section.replaceChildren(
    waves(),
    h('h2', { text: t('hello', { name }) }),
    h('p', { class: 'welcome-sub', text: t('helloSub') }),
    h('ul', { class: 'suggestions', 'aria-label': t('suggestionsLabel') }, suggestions().map((suggestion) =>
      h('li', null,
        h('button', { type: 'button', class: 'suggestion', 'data-testid': 'suggestion', onclick: () => say(suggestion.text) },
          h('span', { text: suggestion.label }),
          suggestion.text === suggestion.label ? null : h('code', { text: suggestion.text }))))));
}

// The sidebar's logo, enlarged.
function waves() {
  const mark = /** @type {Element} */ (document.querySelector('.mark').cloneNode(true));
  mark.classList.add('mark-large');
  return mark;
}
