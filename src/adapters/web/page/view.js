// The log: keeps one view per message in order, follows the newest text while the person is at the
// end, and keeps the position when they read further up.

import { setAttr, setText } from './dom.js';
import { MessageView } from './message-view.js';
import { dayLabel, t } from './strings.js';

// Within this distance the person counts as being at the end.
const NEAR_PX = 60;

// A thread is opened with so many messages at its end, which fill a screen; those above follow in the next frame.
const FIRST_SHOWN = 12;

export class LogView {
  /** `elements`: scroller, log, jump, earlier, earlierButton; `earlier()` loads. */
  constructor(elements, { context, earlier }) {
    this.scroller = elements.scroller;
    this.log = elements.log;
    this.jump = elements.jump;
    this.earlier = elements.earlier;
    this.earlierButton = elements.earlierButton;
    this.folding = false;
    this.context = context;
    this.views = new Map();
    this.pinned = true;
    this.lastTop = 0;
    this.frame = 0;
    this.opening = true;
    this.thread = null;

    this.scroller.addEventListener('scroll', () => this.onScroll(), { passive: true });
    this.jump.addEventListener('click', () => this.toEnd(true));
    this.earlierButton.addEventListener('click', earlier);
    // Reaching the top loads more, unless the last attempt failed: then the button does.
    new IntersectionObserver((seen) => {
      if (!seen.some((entry) => entry.isIntersecting)) return;
      if (this.thread && !this.thread.earlierFailed && !this.pinned) earlier();
    }, { root: this.scroller, rootMargin: '240px 0px 0px 0px' }).observe(this.earlier);
    // Images, fonts and unfolding steps change heights after rendering.
    const sizes = new ResizeObserver(() => {
      if (this.pinned && !this.folding) this.toEnd(false);
      this.updateJump();
    });
    sizes.observe(this.log);
    sizes.observe(this.scroller);
    // Opening a step must show its content, not jump to the end of the page.
    this.log.addEventListener('click', (event) => {
      if (!event.target.closest('summary')) return;
      this.folding = true;
      setTimeout(() => {
        this.folding = false;
        this.pinned = this.isNearEnd();
        this.updateJump();
      }, 120);
    });
  }

  /** Shows another thread, from its end. */
  show(thread) {
    this.thread = thread;
    this.reset();
  }

  /** Rebuilds everything, for another thread or language. */
  reset() {
    this.log.replaceChildren();
    this.views.clear();
    this.pinned = true;
    this.lastTop = 0;
    this.opening = true;
    this.schedule();
  }

  /** Renders in the next frame; many chunks cost one rendering. */
  schedule() {
    if (this.frame) return;
    // Frames stop in hidden tabs, where rendering is not needed; so no timer is used.
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }

  render() {
    const { thread } = this;
    if (!thread) return;
    const anchor = this.pinned ? null : this.anchor();
    const { entries } = thread.store;
    const isFirst = this.opening && entries.length > FIRST_SHOWN;
    this.sync(isFirst ? entries.slice(-FIRST_SHOWN) : entries);
    if (entries.length > 0) this.opening = false;
    if (isFirst) this.schedule();
    this.renderEarlier(thread);
    if (this.pinned) this.toEnd(false);
    else if (anchor?.el.isConnected) {
      // Content inserted above must not move what is being read.
      const moved = anchor.el.getBoundingClientRect().top - anchor.top;
      if (Math.abs(moved) > 1) this.scroller.scrollTop += moved;
    }
    this.updateJump();
  }

  sync(entries) {
    const alive = new Set();
    let at = this.log.firstChild;
    let day = '';
    const last = entries.at(-1);
    for (const entry of entries) {
      let view = this.views.get(entry);
      if (!view) {
        view = new MessageView(entry, this.context);
        this.views.set(entry, view);
      } else view.update(entry);
      view.renderLast(entry, entry === last);
      alive.add(entry);

      // Formatting a date is costly for every row in every frame.
      const time = Number(entry.message.metadata?.timestamp);
      if (view.time !== time) {
        view.time = time;
        view.date = time > 0 ? new Date(time).toDateString() : '';
      }
      const key = view.date || day;
      if (view.dayKey !== `${day}>${key}`) {
        view.dayKey = `${day}>${key}`;
        view.setDay(key !== day ? dayLabel(time) : '');
      }
      day = key;

      if (view.el === at) at = at.nextSibling;
      else this.log.insertBefore(view.el, at);
    }
    for (const [entry, view] of this.views) {
      if (alive.has(entry)) continue;
      view.el.remove();
      this.views.delete(entry);
    }
  }

  renderEarlier(thread) {
    this.earlier.hidden = !thread.hasEarlier;
    const label = thread.loadingEarlier ? 'loadingEarlier' : thread.earlierFailed ? 'earlierFailed' : 'loadEarlier';
    setText(this.earlierButton, t(label));
    setAttr(this.earlierButton, 'aria-busy', thread.loadingEarlier ? 'true' : null);
  }

  // The first visible message and its position.
  anchor() {
    const top = this.scroller.getBoundingClientRect().top;
    const rows = this.log.children;
    let low = 0;
    let high = rows.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].getBoundingClientRect().bottom > top) high = middle;
      else low = middle + 1;
    }
    const el = rows[low];
    return el ? { el, top: el.getBoundingClientRect().top } : null;
  }

  isNearEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_PX;
  }

  // Only scrolling upwards leaves the end: while text grows, the page's own scrolling lags a little
  // and must not count as the person's.
  onScroll() {
    const top = this.scroller.scrollTop;
    if (this.isNearEnd()) this.pinned = true;
    else if (top < this.lastTop - 2) this.pinned = false;
    this.lastTop = top;
    this.updateJump();
  }

  toEnd(smooth) {
    this.pinned = true;
    const far = this.scroller.scrollHeight - this.scroller.scrollTop > 4 * this.scroller.clientHeight;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (smooth && !calm && !far) this.scroller.scrollTo({ top: this.scroller.scrollHeight, behavior: 'smooth' });
    else this.scroller.scrollTop = this.scroller.scrollHeight;
    this.lastTop = this.scroller.scrollTop;
    this.updateJump();
  }

  updateJump() {
    const away = !this.pinned && !this.isNearEnd();
    if (this.jump.hidden === away) this.jump.hidden = !away;
  }
}
