// Notices of the system while the page is not looked at: a question waits, a long turn has ended.
// Only where the person turned them on. The number of questions is also on the app's badge.

import { prefs } from './dom.js';
import { t } from './strings.js';

// A turn that took less was not worth leaving the page for.
const LONG_TURN_MS = 20_000;

export const canNotify = () => 'Notification' in window && isSecureContext;

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
    const notice = new Notification(title, { body, tag });
    notice.addEventListener('click', () => {
      window.focus();
      notice.close();
    });
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
