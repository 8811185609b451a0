// The console's beginning and its wiring: which thread is open, what the header
// says, what follows from an event. The parts themselves live in the other modules.

import { Access } from './access.js';
import { AccessView } from './access-view.js';
import { api, onUnauthorized } from './api.js';
import { Composer } from './composer.js';
import { decoded, h, icon, prefs, setAttr, setText } from './dom.js';
import { Grants } from './grants.js';
import { Inbox } from './inbox.js';
import { InboxView } from './inbox-view.js';
import { Login } from './login.js';
import { canNotify, Notifications } from './notifications.js';
import { forgetKept } from './kept.js';
import { ModelPicker } from './model-picker.js';
import { Pages } from './pages.js';
import { Palette } from './palette.js';
import { actionOf, inSight, takesText } from './shortcuts.js';
import { credential, forget, isOld, onOtherTab } from './session.js';
import { chooseLanguage, elapsed, language, t } from './strings.js';
import { newThreadId, Thread } from './thread.js';
import { ThreadList } from './thread-list.js';
import { ThreadMenu } from './thread-menu.js';
import { ThreadSearch } from './thread-search.js';
import { renderFoot, renderWelcome, threadHash, ThreadsView } from './threads-view.js';
import { LogView } from './view.js';

// Ages in the list ("5m") are written anew this often.
const AGES_EVERY_MS = 30_000;
// A connection that comes back within this time is not worth a word.
const LOST_AFTER_MS = 1_500;
const TOAST_MS = 6_000;
const ELAPSED_FROM_S = 3;
// How long a hidden, idle tab keeps its connection.
const PAUSE_AFTER_MS = 60_000;

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

/** @type {(selector: string) => NodeListOf<HTMLElement>} */
const all = (selector) => document.querySelectorAll(selector);

const page = { info: null, thread: null, shownName: '', shownLanguage: '' };

const agentName = () => page.info?.name || 'shipagent';

const context = {
  agentName,
  foreign: false,
  retry: (id) => page.thread?.retry(id),
  waits: (approvalId) => page.thread?.store.waits(approvalId) ?? false,
  regenerate: () => page.thread?.regenerate(),
  idle: () => page.thread?.state === 'idle',
  speaks: () => !!page.info?.voice?.speaks,
  speech: (id) => api.speech(page.thread?.id, id),
  complain: (words) => toast(words),
  editHint: (id) => t({ queued: 'editQueuedHint', answering: 'editAnsweringHint', last: 'editLastHint' }[page.thread?.editPlaceOf(id)] ?? 'editBranchHint'),
  /** Throws what the daemon refuses; the message stays in its box then. */
  async resend(id, text) {
    const { thread } = page;
    const done = await thread?.resend(id, text);
    if (!done?.branch) return;
    location.hash = threadHash(done.branch);
    open(done.branch);
    say(text, done.files);
  },
  isQueued: (id) => page.thread?.placeOf(id) === 'queued',
  withdraw: (id) => page.thread?.withdraw(id),
  discard: (id) => page.thread?.discard(id),
};

const log = new LogView(
  { scroller: $('scroller'), log: $('log'), jump: $('jump'), earlier: $('earlier'), earlierButton: $('earlier-button') },
  { context, earlier: () => page.thread?.loadEarlier() },
);

const composer = new Composer(
  {
    form: $('composer-form'), input: $('composer'), sendButton: $('send'), stopButton: $('stop'),
    foreignStop: $('stop-foreign'), readonly: $('readonly'), readonlyWords: $('readonly-words'), hint: $('composer-hint'), slash: $('slash'),
    record: { button: $('record'), time: $('record-time') },
    attach: { list: $('attached'), problem: $('attach-problem'), input: $('attach-input'), button: $('attach'), drop: $('app') },
  },
  { send: say, stop: () => page.thread?.stop() },
);

const threadList = new ThreadList((before, query) => api.threads(before, query), () => renderThreads());
const threadMenu = new ThreadMenu({ toast });
const threads = new ThreadsView(
  { list: $('threads'), more: $('threads-more'), moreButton: $('threads-more-button'), none: $('threads-none') },
  { more: () => threadList.more(), menu: (thread, opener) => threadMenu.open(thread, opener) },
);
const threadSearch = new ThreadSearch((query) => threadList.search(query));
const inbox = new Inbox(() => {
  notifications.waiting(inbox.count, agentName());
  approvals.render();
  renderThreads();
});
const grants = new Grants(() => approvals.render());
const approvals = new InboxView(inbox, grants, {
  titleOf: (threadId) => threadList.get(threadId)?.title,
});
const access = new Access(() => {
  people.render();
  threadSearch.know(access.people.map(({ name }) => name).filter(Boolean));
});
const people = new AccessView(access);
const picker = new ModelPicker($('model'), (words) => toast(words));
const pages = new Pages(() => {
  closeDrawer();
  renderThreads();
  renderOffer();
});
const notifications = new Notifications();
const palette = new Palette({
  actions,
  threads: () => threadList.rows,
  openThread: (id) => {
    location.hash = threadHash(id);
  },
});
const login = new Login(start);

// --- the open thread ---

function say(text, files, stored) {
  if (!page.thread) return;
  log.pinned = true;
  page.thread.send(text, files, stored);
}

function open(threadId) {
  if (page.thread?.id === threadId) return;
  page.thread?.close();
  const thread = new Thread(threadId, { changed, stateChanged: renderThreads, elsewhere });
  page.thread = thread;
  context.foreign = !thread.own;
  log.show(thread);
  picker.look(threadId);
  composer.show(thread);
  closeDrawer();
  changed();
  renderThreads();
  composer.focus();
}

function newChat() {
  // An unused new chat is reused.
  if (page.thread?.own && page.thread.loaded && page.thread.store.entries.length === 0) {
    location.hash = threadHash(page.thread.id);
    closeDrawer();
    composer.focus();
    return;
  }
  location.hash = threadHash(newThreadId());
}

function route() {
  const { hash } = location;
  const token = /^#token=([^&]+)/.exec(hash)?.[1];
  if (token) {
    // Removed from the address bar at once: it must not end up in history or in a screenshot.
    history.replaceState(null, '', location.pathname + location.search);
    login.withToken(decoded(token));
    return;
  }
  // The events of the daemon come with those of a thread, so there is one behind a page, too.
  if (pages.route(hash)) {
    if (!page.thread) open(newThreadId());
    return;
  }
  const named = decoded(/^#\/t\/(.+)$/.exec(hash)?.[1] ?? '');
  const threadId = named || page.thread?.id || newThreadId();
  if (!named) history.replaceState(null, '', threadHash(threadId));
  open(threadId);
}

// --- rendering ---

function changed() {
  const { thread } = page;
  if (!thread) return;
  log.schedule();
  composer.update();
  renderConnection(thread);
  renderActivity(thread);
  const welcome = thread.loaded && thread.own && thread.store.entries.length === 0;
  if ($('welcome').hidden === welcome) {
    $('welcome').hidden = !welcome;
    if (welcome) renderWelcome($('welcome'), agentName(), say);
  }
  renderOffer();
}

// The onboarding is offered where the built-in model answers, until the person says "not now".
function renderOffer() {
  const offered = page.info?.onboarding && page.info.model?.provider === 'offline';
  $('setup-offer').hidden = !offered || $('welcome').hidden || pages.isOpen || prefs.get('setup-later') === agentName();
}

let lostTimer = 0;

// A short loss shows in the header alone; a longer one must not be overlooked.
function renderLoss(thread) {
  const lost = thread.connection === 'reconnecting' || thread.connection === 'offline';
  if (!lost) {
    clearTimeout(lostTimer);
    lostTimer = 0;
    $('offline').hidden = true;
  } else {
    lostTimer ||= setTimeout(() => {
      $('offline').hidden = login.visible;
    }, LOST_AFTER_MS);
  }
}

function renderConnection(thread) {
  renderLoss(thread);
  const words = { open: 'connected', connecting: 'connecting', reconnecting: 'reconnecting', offline: 'offline' };
  const label = t(words[thread.connection]);
  const el = $('connection');
  setAttr(el, 'data-state', thread.connection);
  setAttr(el, 'title', label);
  if (el.textContent === label && el.childElementCount) return;
  el.replaceChildren(h('span', { class: 'connection-dot' }), h('span', { class: 'connection-word', text: label }));
}

// What the agent is doing, when the log itself does not show it.
function renderActivity(thread) {
  const el = $('activity');
  const { notice } = thread;
  const last = thread.store.entries.at(-1);
  const speaking = last?.live && last.message.parts.some((part) => part?.type !== 'step-start');
  const words = [];
  if (notice) words.push(notice.text);
  else if (thread.state === 'awaiting-approval') {
    // The step itself shows the approval; a second notice would repeat it.
    if (!last?.message.parts.some((part) => part?.state === 'approval-requested')) words.push(t('awaiting'));
  } else if (thread.running && thread.stopping) words.push(t('stopping'));
  else if (thread.running && !speaking) words.push(t('working'));
  // How long it takes is worth saying once it takes long.
  const seconds = thread.state === 'running' && thread.startedAt ? Math.floor((Date.now() - thread.startedAt) / 1_000) : 0;
  if (seconds >= ELAPSED_FROM_S) words.push(elapsed(seconds));
  if (thread.queued > 0) words.push(t('queued', { count: thread.queued }));

  const kind = notice?.kind ?? (thread.state === 'awaiting-approval' ? 'waiting' : 'progress');
  const key = `${language()}|${kind}|${words.join('|')}`;
  if (el.dataset.key === key) return;
  el.dataset.key = key;
  el.dataset.kind = kind;
  el.hidden = words.length === 0;
  const mark = { error: () => icon('error'), waiting: () => icon('waiting') }[kind] ?? (() => h('span', { class: 'dots' }, h('i'), h('i'), h('i')));
  el.replaceChildren(mark(), h('span', { text: words.join(' · ') }));
  if (notice?.kind === 'error') {
    setAttr(el.firstElementChild.nextElementSibling, 'data-testid', 'error');
    el.append(h('button', { type: 'button', class: 'icon-button', 'aria-label': t('dismiss'), onclick: () => page.thread?.dismissNotice() }, icon('close')));
  }
  log.schedule();
}

function renderThreads() {
  const { thread } = page;
  const known = threadList.shown.map((listed) => (listed.threadId === thread?.id && thread.known ? { ...listed, state: thread.state } : listed));
  threads.render(known, pages.isOpen ? null : thread?.id, !threadList.found);
  threads.renderMore(threadList);
  const own = thread && threadList.get(thread.id);
  const waiting = inbox.count ? `(${inbox.count}) ` : '';
  const mark = thread?.running ? `● ${waiting}` : waiting;
  const title = pages.isOpen ? pages.title : own?.title;
  document.title = `${mark}${title ? `${title} – ` : ''}${agentName()}`;
}

function renderInfo() {
  const { info } = page;
  setText($('agent-name'), agentName());
  picker.tell(info);
  renderFoot($('sidebar-foot'), info, signOut);
}

// --- what the daemon tells ---

/** What happens outside of the open thread. */
function elsewhere(name, data) {
  pages.heard(name, data);
  if (name === 'snapshot') onSnapshot(data);
  else if (name === 'thread') onThread(data);
  else if (name === 'deleted') onDeleted(data?.threadId);
  else if (name === 'info') onInfo(data);
  else if (name === 'approvals') inbox.heard(Number(data?.pending) || 0, approvals.isOpen);
  else if (name === 'access') access.heard(Number(data?.asking) || 0, people.isOpen);
  else if (name === 'grants' && approvals.showsGrants) grants.refresh();
  else if (name === 'instructions') toast(t('instructionsRead'));
}

// Comes first on every connection, and again where this page was too slow to follow.
function onSnapshot(data) {
  threadList.snapshot(data?.threads ?? [], data?.nextBefore ?? null, data?.pinned ?? []);
  inbox.heard(Number(data?.pendingApprovals) || 0, approvals.isOpen);
  access.heard(Number(data?.asking) || 0, people.isOpen);
  if (approvals.showsGrants) grants.refresh();
  // A login that cannot be renewed now is renewed later.
  if (isOld()) api.renewLogin().catch(() => {});
  onInfo(data?.info ?? null);
}

function onThread(row) {
  threadList.upsert(row);
  // A command in the conversation may have chosen another model.
  if (row.threadId === page.thread?.id && row.state === 'idle') picker.look(row.threadId);
  notifications.thread(row);
}

function onDeleted(threadId) {
  threadList.remove(threadId);
  if (page.thread?.id === threadId && !pages.isOpen) location.hash = threadHash(newThreadId());
}

function onInfo(info) {
  const before = JSON.stringify(page.info);
  const first = page.info === null;
  page.info = info;
  pages.inform(info);
  composer.recorder.offer(!!info?.voice?.listens);
  if (JSON.stringify(info) !== before) applyLanguage();
  // In a new project there is nothing to see yet.
  const opens = first && info?.onboarding === 'opened' && !pages.isOpen && prefs.get('setup-later') !== agentName();
  if (opens && page.thread?.own) location.hash = '#/setup';
}

let toastTimer = 0;

function toast(words) {
  setText($('toast'), words);
  $('toast').hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => {
    $('toast').hidden = true;
  }, TOAST_MS);
}

$('thread-filters').addEventListener('toggle', () => $('thread-filters').open && access.refresh());

$('setup-later').addEventListener('click', () => {
  prefs.set('setup-later', agentName());
  renderOffer();
  composer.focus();
});

$('offline-retry').addEventListener('click', () => page.thread?.resume());

setInterval(() => {
  if (document.hidden || login.visible) return;
  renderThreads();
  if (approvals.isOpen) approvals.render();
  if (people.isOpen) people.render();
  pages.tick();
}, AGES_EVERY_MS);

setInterval(() => {
  if (!document.hidden && page.thread?.state === 'running') renderActivity(page.thread);
}, 1_000);

let pauseTimer = 0;

document.addEventListener('visibilitychange', () => {
  clearTimeout(pauseTimer);
  if (document.hidden) {
    pauseTimer = setTimeout(() => {
      // Notices come by this connection.
      if (page.thread && !page.thread.running && !notifications.on) page.thread.pause();
    }, PAUSE_AFTER_MS);
  } else if (!login.visible) {
    page.thread?.resume();
  }
});

// A page in the back/forward cache is frozen with its stream, and gets no events of other tabs.
window.addEventListener('pagehide', () => page.thread?.pause());
window.addEventListener('pageshow', (event) => {
  if (!event.persisted) return;
  if (credential() === null) askForLogin();
  else if (!login.visible) page.thread?.resume();
});

// --- theme and language ---

const systemDark = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (document.documentElement.dataset.theme ?? (systemDark.matches ? 'dark' : 'light')) === 'dark';

function renderTheme() {
  const label = t(isDark() ? 'toLight' : 'toDark');
  const button = $('theme-toggle');
  setAttr(button, 'aria-label', label);
  setAttr(button, 'title', label);
  button.replaceChildren(icon(isDark() ? 'sun' : 'moon'));
}

$('theme-toggle').addEventListener('click', () => {
  const theme = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = theme;
  prefs.set('theme', theme);
  renderTheme();
});
systemDark.addEventListener('change', renderTheme);

function applyLanguage() {
  const before = document.documentElement.lang;
  chooseLanguage(prefs.get('language'), page.info?.language);
  document.documentElement.lang = language() === 'zh' ? 'zh-CN' : 'en';
  for (const el of all('[data-i18n]')) setText(el, t(el.dataset.i18n));
  for (const el of all('[data-i18n-label]')) setAttr(el, 'aria-label', t(el.dataset.i18nLabel));
  for (const el of all('[data-i18n-placeholder]')) setAttr(el, 'placeholder', t(el.dataset.i18nPlaceholder));
  const toggle = $('language-toggle');
  setText(toggle, t('otherShort'));
  setAttr(toggle, 'aria-label', t('toOther'));
  setAttr(toggle, 'title', t('toOther'));
  setAttr(toggle, 'lang', language() === 'zh' ? 'en' : 'zh-CN');
  renderTheme();
  renderInfo();
  renderThreads();
  // Rebuilt for other words alone: what was chosen in a panel must survive a change of the daemon's state.
  const other = page.shownLanguage !== language();
  page.shownLanguage = language();
  for (const part of other ? [approvals, people, threadSearch, palette] : []) part.reset();
  if (before !== document.documentElement.lang || page.shownName !== agentName()) {
    page.shownName = agentName();
    $('welcome').hidden = true;
    log.reset();
    pages.render();
  }
  // No page shows the agent's name, and a page that is built again loses the focus.
  if (before !== document.documentElement.lang) pages.reset();
  changed();
}

$('language-toggle').addEventListener('click', () => {
  prefs.set('language', language() === 'zh' ? 'en' : 'zh');
  applyLanguage();
});

// --- drawer and keyboard ---

const narrow = matchMedia('(max-width: 820px)');

function drawer(openIt) {
  const shown = openIt && narrow.matches;
  document.body.classList.toggle('drawer-open', shown);
  setAttr($('drawer-open'), 'aria-expanded', String(shown));
  // A closed drawer is off screen; it must be out of the tab order as well.
  $('sidebar').inert = narrow.matches && !shown;
  for (const el of all('.main')) el.inert = shown;
}

function closeDrawer() {
  const had = document.body.classList.contains('drawer-open');
  drawer(false);
  if (had) $('drawer-open').focus();
}

$('drawer-open').addEventListener('click', () => {
  drawer(true);
  $('drawer-close').focus();
});
$('drawer-close').addEventListener('click', closeDrawer);
$('scrim').addEventListener('click', closeDrawer);
narrow.addEventListener('change', () => drawer(false));
$('new-chat').addEventListener('click', newChat);
$('skip').addEventListener('click', (event) => {
  event.preventDefault();
  $(pages.isOpen ? 'page-title' : 'composer').focus();
});

const mac = /mac|iphone|ipad/i.test(/** @type {any} */ (navigator).userAgentData?.platform ?? navigator.platform ?? '');
const mod = mac ? '⌘' : 'Ctrl ';
const alt = mac ? '⌥' : 'Alt ';
setText($('new-chat-key'), `${alt}N`);

/** What the palette offers. */
function actions() {
  const go = (hash) => () => {
    location.hash = hash;
  };
  const action = (name, picture, words, act, key) => ({ name, icon: picture, words, act, key });
  return [
    action('new', 'plus', t('newChat'), newChat),
    ...pages.all().map(({ name, icon: picture, title }) => action(`page-${name}`, picture, title, go(`#/${name}`))),
    action('approvals', 'inbox', t('inbox'), () => $('inbox-open').click()),
    action('access', 'people', t('access'), () => $('access-open').click()),
    action('search', 'search', t('threadSearch'), () => threadSearch.focus(), `${alt}S`),
    action('theme', isDark() ? 'sun' : 'moon', t(isDark() ? 'toLight' : 'toDark'), () => $('theme-toggle').click()),
    action('language', 'chat', t('toOther'), () => $('language-toggle').click()),
    ...(canNotify() ? [action('notify', 'bell', t(notifications.on ? 'notifyOff' : 'notifyOn'), toggleNotices)] : []),
    action('shortcuts', 'keyboard', t('shortcuts'), showShortcuts, `${alt}/`),
  ];
}

async function toggleNotices() {
  const on = await notifications.toggle();
  toast(t(on ? 'notifyIsOn' : 'notifyIsOff'));
}

function showShortcuts() {
  const keys = t('shortcutWords');
  palette.showKeys([
    [`${mod}K`, keys.palette], [`${alt}N`, keys.newChat], [`${alt}S`, keys.search], [`${alt}Y`, keys.approve], [`${alt}D`, keys.deny],
    ['Enter', keys.send], ['Shift Enter', keys.line], ['Esc', keys.stop], ['/', keys.command], [`${alt}/`, keys.shortcuts],
  ]);
}

/**
 * Answers the first question that waits in the open conversation. Only what is in sight is decided by a
 * key: a question further up or down is brought there, and the next press decides it.
 */
function decideFirst(word) {
  if (pages.isOpen) return;
  const waiting = [...all(`#log [data-testid=approval] [data-testid=answer-${word}]:not(:disabled)`)];
  const button = waiting.find((el) => el.checkVisibility({ visibilityProperty: true }));
  if (!button) return;
  if (inSight(button, $('scroller'))) {
    button.click();
    return;
  }
  log.pinned = false;
  button.closest('[data-testid=approval]').scrollIntoView({ block: 'center' });
  button.focus({ preventScroll: true });
}

function escape() {
  if (document.body.classList.contains('drawer-open')) closeDrawer();
  // Never while a question waits: a key that closes things must not take it back.
  else if (!pages.isOpen && page.thread?.own && page.thread.interruptible) page.thread.stop();
}

const KEY_ACTIONS = {
  palette: () => palette.open(),
  new: newChat,
  search: () => threadSearch.focus(),
  approve: () => decideFirst('approve'),
  deny: () => decideFirst('deny'),
  shortcuts: showShortcuts,
};

document.addEventListener('keydown', (event) => {
  if (login.visible || approvals.isOpen || people.isOpen || palette.isOpen || document.querySelector('dialog[open]')) return;
  const name = actionOf(event, { mac, typing: takesText(document.activeElement) });
  if (name === 'escape' && !composer.composing) escape();
  if (!KEY_ACTIONS[name]) return;
  event.preventDefault();
  KEY_ACTIONS[name]();
});

// --- start ---

/** Covers the page with the login form; a typed draft stays. */
function askForLogin() {
  page.thread?.pause();
  // A panel is above everything, also the form.
  approvals.close();
  people.close();
  palette.close();
  login.show();
}

/** Removes the conversation from the page. */
async function signOut() {
  forget();
  await forgetKept();
  location.reload();
}

/** After page load and after every login. */
async function start() {
  // Without a login there is nothing to show; which of the stored ones is meant, the daemon says when it refuses.
  if (credential() === null) {
    try {
      await api.renewLogin();
    } catch (error) {
      if (error.status === 401) return;
    }
  }
  login.hide();
  if (page.thread) page.thread.resume();
  route();
}

for (const el of all('[data-icon]')) el.prepend(icon(el.dataset.icon));
onUnauthorized(askForLogin);
onOtherTab(() => {
  if (credential() === null) askForLogin();
  else if (login.visible) start();
});
window.addEventListener('hashchange', route);
applyLanguage();
drawer(false);
if (location.hash.startsWith('#token=')) route();
else start();
