// The keys of the console that work everywhere on the page. Which action a key names is decided here,
// without the DOM.

/** @type {Record<string, string>} By the place of the key: with Alt, some layouts write another letter. */
const WITH_ALT = { KeyN: 'new', KeyS: 'search', KeyY: 'approve', KeyD: 'deny', Slash: 'shortcuts' };

/** Whether an element takes text: there, Option writes letters on a Mac. */
export const takesText = (el) => !!el?.matches?.('textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=button])');

/**
 * The action of a key press, or null: `palette`, `escape` or one of the keys with Alt. A key that is
 * held down is one press. `typing`: a text field has the focus.
 * @param {any} event
 */
export function actionOf(event, { mac, typing }) {
  if (event.repeat || event.shiftKey) return null;
  if ((mac ? event.metaKey : event.ctrlKey) && !event.altKey && event.key.toLowerCase() === 'k') return 'palette';
  if (event.altKey && !event.ctrlKey && !event.metaKey) return (mac && typing ? null : WITH_ALT[event.code]) ?? null;
  return event.key === 'Escape' && !event.isComposing ? 'escape' : null;
}

/** Whether an element can be seen now, at least in part, within what scrolls around it. */
export function inSight(el, scroller) {
  if (!el.checkVisibility({ visibilityProperty: true })) return false;
  const [inner, outer] = [el.getBoundingClientRect(), scroller.getBoundingClientRect()];
  return inner.bottom > outer.top && inner.top < outer.bottom;
}
