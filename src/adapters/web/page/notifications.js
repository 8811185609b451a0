// Notices of the system while the page is not looked at: a question waits, a long turn has ended.
// Only where the person turned them on. The number of questions is also on the app's badge.

import { prefs } from './dom.js';
import { t } from './strings.js';

// A turn that took less was not worth leaving the page for.
const LONG_TURN_MS = 20_000;

export const canNotify = () => 'Notification' in window && isSecureContext;

const WORKER = '/notices.js';

// The page may run no script from a text; this policy lets it name the one file of the service worker.
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy('shipagent-notices', { createScriptURL: () => WORKER });

// Browsers of phones show notices of a service worker alone, and throw where a page makes one.
async function show(title, body, tag) {
  const registration = await navigator.serviceWorker?.register(policy?.createScriptURL('') ?? WORKER).then(() => navigator.serviceWorker.ready).catch(() => null);
  if (registration) {
    await registration.showNotification(title, { body, tag, data: { url: location.href } });
    return;
  }
  const notice = new Notification(title, { body, tag });
  notice.addEventListener('click', () => {
    window.focus();
    notice.close();
  });
}

export class Notifications {
  constructor() {
    this.questions = 0;
    /** When each running thread was first seen running. */
    this.running = new Map();
  }

  get on() {
    return canNotify() && Notification.permission === 'granted' && prefs.get('notify') === 'on';
  }

  /** Returns whether notices are on now. */
  async toggle() {
    if (this.on) {
      prefs.set('notify', 'off');
      return false;
    }
    if (!canNotify() || (await Notification.requestPermission()) !== 'granted') return false;
    prefs.set('notify', 'on');
    return true;
  }

  tell(title, body, tag) {
    if (!this.on || document.visibilityState === 'visible') return;
    show(title, body, tag).catch((error) => reportError(error));
  }

  /** The number of questions that wait. */
  waiting(count, agent) {
    if (count > this.questions) this.tell(agent, t('notifyApproval', { count }), 'approvals');
    this.questions = count;
    const { setAppBadge, clearAppBadge } = /** @type {any} */ (navigator);
    if (count) setAppBadge?.call(navigator, count).catch(() => {});
    else clearAppBadge?.call(navigator).catch(() => {});
  }

  /** The state of a thread. */
  thread({ threadId, state, title }) {
    const since = this.running.get(threadId);
    if (state === 'running') {
      if (since === undefined) this.running.set(threadId, Date.now());
    } else if (state === 'idle' && since !== undefined) {
      this.running.delete(threadId);
      if (Date.now() - since >= LONG_TURN_MS) this.tell(title || t('untitled'), t('notifyDone'), threadId);
    }
  }
}
