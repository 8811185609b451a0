// Small DOM helpers. Content only ever enters the page as text nodes and
// checked attributes; nothing in this console parses strings as HTML.

const SVG = 'http://www.w3.org/2000/svg';

// Stroke paths on a 20×20 grid. Drawn here because the page may load no assets.
const ICONS = {
  plus: 'M10 4v12M4 10h12',
  close: 'M5 5l10 10M15 5L5 15',
  menu: 'M3.5 6h13M3.5 10h13M3.5 14h9',
  send: 'M10 16V4.5M5 9.2l5-5 5 5',
  stop: 'M6 6h8v8H6z',
  down: 'M10 4v11.5M5.2 10.8L10 15.6l4.8-4.8',
  sun: 'M10 6.6a3.4 3.4 0 100 6.8 3.4 3.4 0 000-6.8zM10 2v1.6M10 16.4V18M2 10h1.6M16.4 10H18M4.4 4.4l1.1 1.1M14.5 14.5l1.1 1.1M15.6 4.4l-1.1 1.1M5.5 14.5l-1.1 1.1',
  moon: 'M16.5 11.8A6.8 6.8 0 018.2 3.5a6.8 6.8 0 108.3 8.3z',
  chevron: 'M7.5 5l5 5-5 5',
  ok: 'M4.5 10.5l3.6 3.6 7.4-8',
  error: 'M10 5.5v5.2M10 14.2v.1M10 2.5a7.5 7.5 0 100 15 7.5 7.5 0 000-15z',
  denied: 'M10 2.5a7.5 7.5 0 100 15 7.5 7.5 0 000-15zM4.8 4.8l10.4 10.4',
  waiting: 'M10 5.8V10l2.8 1.8M10 2.5a7.5 7.5 0 100 15 7.5 7.5 0 000-15z',
  running: 'M10 2.8a7.2 7.2 0 107.2 7.2',
  halted: 'M6.5 10h7M10 2.5a7.5 7.5 0 100 15 7.5 7.5 0 000-15z',
  copy: 'M7.5 7.5h8v8h-8zM12.5 7.5v-3h-8v8h3',
  retry: 'M15.5 10a5.5 5.5 0 11-1.7-4M15.8 3.2v3.2h-3.2',
  inbox: 'M3.5 10.5l2-6h9l2 6v5h-13zM3.5 10.5h4l1 2h3l1-2h4',
  people: 'M7.6 4.2a2.7 2.7 0 100 5.4 2.7 2.7 0 000-5.4zM2.6 16.2c0-2.8 2.2-4.4 5-4.4s5 1.6 5 4.4M13 4.5a2.6 2.6 0 010 4.9M14.6 12.2c1.7.5 2.8 1.9 2.8 4',
  flag: 'M5 17V3.5M5 4h10l-2.2 3.5L15 11H5',
  clock: 'M10 6v4.2l2.6 1.6M10 3a7 7 0 100 14 7 7 0 000-14z',
  book: 'M10 5.2C8.4 4 6.2 3.6 3.5 3.8v11.4c2.7-.2 4.9.2 6.5 1.4 1.6-1.2 3.8-1.6 6.5-1.4V3.8c-2.7-.2-4.9.2-6.5 1.4zM10 5.2v11.4',
  chart: 'M3.5 16.5h13M6 13.5V9M10 13.5V4.5M14 13.5V7',
  edit: 'M12.8 4.2l3 3L7 16H4v-3zM11 6l3 3',
  pin: 'M8 3.5h4l-.6 5 2.6 2.5v1.5H6V11l2.6-2.5zM10 12.5V17',
  archive: 'M3.5 4h13v3.5h-13zM4.5 7.5V16h11V7.5M8 10.5h4',
  trash: 'M4 6h12M8 6V4h4v2M5.5 6l.7 10h7.6l.7-10',
  more: 'M5 10h.01M10 10h.01M15 10h.01',
  microphone: 'M10 3a2.2 2.2 0 00-2.2 2.2v4.6a2.2 2.2 0 004.4 0V5.2A2.2 2.2 0 0010 3zM5 9.6a5 5 0 0010 0M10 14.6V17',
  sound: 'M3.5 8v4H6l4 3.5v-11L6 8zM13 7.5a3.5 3.5 0 010 5M15.2 5.2a6.8 6.8 0 010 9.6',
  play: 'M6.5 4.5v11l9-5.5z',
  clip: 'M13.5 7l-5.3 5.3a1.8 1.8 0 002.5 2.5l5.3-5.4a3.6 3.6 0 00-5-5L5.6 9.8a5.3 5.3 0 007.5 7.5',
  search: 'M9 3.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM13 13l3.8 3.8',
  wrap: 'M3.5 5h13M3.5 10h10a2.8 2.8 0 010 5.5H10M12 13.5l-2 2 2 2M3.5 15.5h3',
  keyboard: 'M2.5 5.5h15v9h-15zM5 8.5h.01M8 8.5h.01M11 8.5h.01M14 8.5h.01M6.5 11.8h7',
  bell: 'M5 13.5V9a5 5 0 0110 0v4.5l1.2 1.5H3.8zM8.5 17h3',
  chat: 'M3.5 4.5h13v9h-7l-3.5 3v-3h-2.5z',
  settings: 'M3.5 6h7M14.5 6h2M3.5 14h2M9.5 14h7M12.5 4a2 2 0 100 4 2 2 0 000-4zM7.5 12a2 2 0 100 4 2 2 0 000-4z',
  pulse: 'M2.5 10.5h3.2l2-5 4 9.5 2.1-4.5h3.7',
  list: 'M4 5.5h.01M7.5 5.5h9M4 10h.01M7.5 10h9M4 14.5h.01M7.5 14.5h9',
  back: 'M12.5 5l-5 5 5 5',
  file: 'M5.5 2.8h6l3 3v11.4h-9zM11.2 3v3.2h3.2',
};

/** An inline icon; decorative, so hidden from assistive technology. */
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 20 20');
  svg.setAttribute('class', `icon icon-${name}`);
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', ICONS[name] ?? '');
  svg.append(path);
  return svg;
}

/**
 * Builds an element. `on…` functions become listeners, `text` the text, `true`
 * an empty attribute; null, undefined and false are left out.
 */
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'text') el.textContent = value;
    else if (typeof value === 'function') el.addEventListener(key.slice(2), value);
    else el.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) el.append(child);
  }
  return el;
}

/** Sets text only when it differs, so live regions do not repeat themselves. */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

/** Sets or (null/false) removes an attribute, touching the DOM only on change. */
export function setAttr(el, name, value) {
  if (value === null || value === undefined || value === false) {
    if (el.hasAttribute(name)) el.removeAttribute(name);
  } else if (el.getAttribute(name) !== String(value)) {
    el.setAttribute(name, String(value));
  }
}

/** The URL if a link may lead there: web and mail only; else null. */
export function safeHref(url) {
  try {
    const parsed = new URL(url);
    return ['http:', 'https:', 'mailto:'].includes(parsed.protocol) ? parsed.href : null;
  } catch {
    return null;
  }
}

/** A part of an address as text; as it is where it cannot be decoded. */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Copies text; the fallback is for consoles opened over plain http on a LAN. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h('textarea', { class: 'offscreen', 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    let done = false;
    try {
      done = document.execCommand('copy');
    } catch {
      done = false;
    }
    area.remove();
    return done;
  }
}

/** A copy button that shows "copied" for a moment. `read` is called on click. */
export function copyButton(labels, read) {
  const label = h('span', { class: 'copy-label', text: labels.copy });
  return h('button', {
    type: 'button', class: 'copy', 'aria-label': labels.copy, title: labels.copy,
    async onclick(event) {
      const button = event.currentTarget;
      if (!(await copyText(read()))) return;
      button.classList.add('copied');
      label.textContent = labels.copied;
      setTimeout(() => {
        button.classList.remove('copied');
        label.textContent = labels.copy;
      }, 1600);
    },
  }, icon('copy'), label);
}

/** Texts of this tab: they survive a reload where storage is allowed, and never throw. */
export const tabStore = {
  get(key) {
    try {
      return sessionStorage.getItem(`ship.${key}`);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      if (value === null) sessionStorage.removeItem(`ship.${key}`);
      else sessionStorage.setItem(`ship.${key}`, value);
    } catch {
      // With blocked or full storage a draft lasts as long as the page.
    }
  },
};

/** Preferences survive reloads where storage is allowed, and never throw. */
export const prefs = {
  get(key) {
    try {
      return localStorage.getItem(`ship.${key}`);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(`ship.${key}`, value);
    } catch {
      // With blocked storage the choice is not remembered.
    }
  },
};
