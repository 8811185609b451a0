// The texts of the console in the chosen language. The words are in phrases.js.

import { PHRASES } from './phrases.js';

let current = 'en';

export const language = () => current;

/** The language: the choice made here, the daemon's setting, or the browser's. */
export function chooseLanguage(remembered, configured) {
  const wish = [remembered, configured].find((value) => value === 'zh' || value === 'en');
  current = wish ?? ((navigator.language ?? '').toLowerCase().startsWith('zh') ? 'zh' : 'en');
  return current;
}

/** A string with its `{names}` filled in. */
export function t(key, values) {
  const text = PHRASES[current][key] ?? PHRASES.en[key] ?? key;
  if (!values || typeof text !== 'string') return text;
  return text.replace(/(.?)( ?)\{(\w+)\}( ?)(?=(.?))/gsu, (whole, before, left, name, right, after) => {
    const value = String(values[name] ?? `{${name}}`);
    return before + spaceBetween(before, left, value) + value + spaceBetween(value, right, after);
  });
}

/** A phrase has spaces around a name for the sake of Latin ones; Chinese characters stand side by side. */
function spaceBetween(before, space, after) {
  const han = /\p{Script=Han}/u;
  return current === 'zh' && han.test([...before].at(-1) ?? '') && han.test([...after][0] ?? '') ? '' : space;
}

/** Things to try, each with what is written when it is chosen. */
export function suggestions() {
  const texts = t('suggestionText');
  return Object.entries(t('suggestionLabel')).map(([key, label]) => ({ label, text: texts[key] }));
}

export function channelName(channel) {
  return t('channel')[channel] ?? channel.charAt(0).toUpperCase() + channel.slice(1);
}

/** A person's name: `123 (Telegram)` of `telegram:user:123`. */
export function personName(authorId) {
  const [channel, , ...rest] = String(authorId ?? '').split(':');
  let name = rest.join(':');
  try {
    name = decodeURIComponent(name);
  } catch {
    // Shown undecoded.
  }
  const place = channelName(channel || '?').replace(/^the /, '');
  if (!name) return place;
  return t('person', { name, place });
}

const locale = () => (current === 'zh' ? 'zh-CN' : navigator.language?.startsWith('en') ? navigator.language : 'en-GB');

const formats = new Map();
function format(name, options) {
  const key = `${current}:${name}`;
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(locale(), options));
  return formats.get(key);
}

export const clock = (ms) => format('clock', { hour: 'numeric', minute: '2-digit' }).format(ms);

/** "Today", "Yesterday" or the date; also a key for the day it names. */
export function dayLabel(ms) {
  const start = (time) => new Date(time).setHours(0, 0, 0, 0);
  const days = Math.round((start(Date.now()) - start(ms)) / 86_400_000);
  if (days === 0) return t('today');
  if (days === 1) return t('yesterday');
  return format('day', { year: 'numeric', month: 'long', day: 'numeric' }).format(ms);
}

/** A time of the daemon as text: "Today 14:03". Empty if there is none. */
export function moment(text) {
  const at = Date.parse(text ?? '');
  return Number.isFinite(at) ? `${dayLabel(at)} ${clock(at)}` : '';
}

function span(minutes) {
  if (minutes < 60) return [minutes, 'minute'];
  return minutes < 2_880 ? [Math.round(minutes / 60), 'hour'] : [Math.round(minutes / 1_440), 'day'];
}

/** How long until a time: "in 3 hours". */
export function until(ms) {
  const [amount, unit] = span(Math.max(0, Math.round((ms - Date.now()) / 60_000)));
  return new Intl.RelativeTimeFormat(locale(), { numeric: 'always' }).format(amount, unit);
}

/** A duration while something runs: "12 s", "3 min 5 s". */
export function elapsed(seconds) {
  return seconds < 60 ? t('elapsedSeconds', { count: seconds }) : t('elapsedMinutes', { count: Math.floor(seconds / 60), rest: seconds % 60 });
}

/** How long since a time: "3 hours ago", "this minute". */
export function ago(ms) {
  const [amount, unit] = span(Math.max(0, Math.floor((Date.now() - ms) / 60_000)));
  return new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' }).format(-amount, unit);
}

/** A short age for lists: "now", "5m", "3h", "2d", then a date. */
export function age(ms) {
  const minutes = Math.max(0, Math.floor((Date.now() - ms) / 60_000));
  if (minutes < 1) return t('ageNow');
  if (minutes < 60) return t('ageMinutes', { count: minutes });
  if (minutes < 1440) return t('ageHours', { count: Math.floor(minutes / 60) });
  if (minutes < 10_080) return t('ageDays', { count: Math.floor(minutes / 1440) });
  return format('short', { month: 'short', day: 'numeric' }).format(ms);
}
