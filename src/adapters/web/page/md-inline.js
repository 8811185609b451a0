// Inline Markdown to a small tree. Pure, and linear in practice for any input: a model may send 100
// KB of asterisks, and the page must stay responsive.

import { ENTITIES } from './entities.js';
import { labelOf } from './md-blocks.js';

// Depth beyond which emphasis stays flat, to keep the DOM small.
const MAX_DEPTH = 24;

const PLAIN = /[^\\`*_~[\]!<&:$\n]+/y;
const FOOTNOTE = /\[\^([^\]\s]{1,64})\]/y;
// A price and a variable of a shell are no formula: no space inside the marks, no letter or digit behind them.
const MATH = /\$\$([^$\n]+)\$\$|\$(?![\s$])([^$\n]*[^$\s\\])\$(?!\w)/y;
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const ENTITY = /&(?:([a-z][a-z0-9]{1,30})|#(\d{1,7})|#x([0-9a-f]{1,6}));/iy;
const AUTOLINK = /<((?:https?:\/\/|mailto:)[^\s<>]*|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)>/iy;
const BREAK_TAG = /<br[ ]?\/?>/iy;
// Bare URLs end at the first non-ASCII character: in Chinese prose the next word follows without a
// space.
const BARE = /:\/\/[\w\-.~:/?#[\]@!$&'()*+,;=%]+/y;
// `(target "title")` after a link text; the target may hold balanced parens.
const TARGET = /\([ \n]{0,4}(?:<([^<>\n]*)>|([^\s()<][^\s()]*(?:\([^\s()]*\)[^\s()]*)*)?)(?:[ \n]{1,4}(?:"([^"]*)"|'([^']*)'))?[ \n]{0,4}\)/y;

const match = (pattern, source, at) => {
  pattern.lastIndex = at;
  return pattern.exec(source);
};

const isSpace = (ch) => ch === undefined || ch === '' || /\s/.test(ch);
const isWord = (ch) => ch !== undefined && /[\p{L}\p{N}]/u.test(ch);

/** Plain text of a tree, for image descriptions. */
function plainText(nodes) {
  let out = '';
  for (const node of nodes) out += node.s ?? (node.c ? plainText(node.c) : ' ');
  return out;
}

/**
 * Nodes: `{t:'text'|'code', s}`, `{t:'br'}`, `{t:'em'|'strong'|'del', c}`,
 * `{t:'link', href, title, c}`, `{t:'image', href, s}`, `{t:'ref', id}`, `{t:'math', s}`.
 * With `open` the text is still growing: bold or code without an end counts as
 * begun, and marks at the very end are held back, so that nothing flickers.
 * `links` are the link definitions of the text, by label.
 */
export function parseInline(text, open = false, links = NO_LINKS) {
  return scan(open ? trimEndOf(text, '*_~`[!') : text, open, links);
}

const NO_LINKS = new Map();

// `[text][label]`, `[label][]` or `[label]`, where the label is defined.
const LABEL = /\[((?:[^\\[\]]|\\.){0,300})\]/y;

function reference(source, from, at, links) {
  if (links.size === 0 || at - from > 300) return null;
  const second = match(LABEL, source, at + 1);
  const found = links.get(labelOf(second?.[1] || source.slice(from, at)));
  return found ? { ...found, end: second && (second[1] || second[0] === '[]') ? LABEL.lastIndex : at + 1 } : null;
}

function scan(source, open, links) {
  const tokens = [];
  const brackets = [];
  const unclosed = new Set();
  let text = '';
  let i = 0;

  // Where the formula that begins here ends, or 0. Kept, so that a line of open ones is searched once.
  const next = { end: -2, line: -2 };
  const closingParens = (from) => {
    for (const [key, mark] of [['end', '\\)'], ['line', '\n']]) {
      if (next[key] < from) next[key] = source.indexOf(mark, from);
      if (next[key] < 0) next[key] = Infinity;
    }
    return next.end > from && next.end < Math.min(next.line, source.length) ? next.end : 0;
  };

  const flush = () => {
    if (text) tokens.push({ t: 'text', s: text });
    text = '';
  };
  const node = (value) => {
    flush();
    tokens.push(value);
  };

  while (i < source.length) {
    const plain = match(PLAIN, source, i);
    if (plain) {
      text += plain[0];
      i = PLAIN.lastIndex;
      continue;
    }
    const ch = source[i];
    let found;

    if (ch === '\\' && source[i + 1] === '(' && (found = closingParens(i + 2)) > 0) {
      node({ t: 'math', s: source.slice(i + 2, found).trim() });
      i = found + 2;
    } else if (ch === '$' && (found = match(MATH, source, i))) {
      node({ t: 'math', s: (found[1] ?? found[2]).trim() });
      i = MATH.lastIndex;
    } else if (ch === '[' && (found = match(FOOTNOTE, source, i))) {
      node({ t: 'ref', id: found[1] });
      i = FOOTNOTE.lastIndex;
    } else if (ch === '\\') {
      const next = source[i + 1];
      if (next === '\n') node({ t: 'br' });
      else if (next !== undefined && ESCAPABLE.test(next)) text += next;
      else text += next === undefined ? ch : ch + next;
      i += 2;
    } else if (ch === '\n') {
      // Every line end breaks: in a chat, a new line is meant as one.
      text = trimEndOf(text, ' ');
      node({ t: 'br' });
      i++;
    } else if (ch === '`') {
      const run = runLength(source, i, '`');
      const close = closingTicks(source, i + run, run, unclosed);
      if (close < 0 && open && run === 1) {
        node({ t: 'code', s: source.slice(i + 1).replace(/\n/g, ' ') });
        break;
      }
      if (close < 0) text += '`'.repeat(run);
      else node({ t: 'code', s: codeText(source.slice(i + run, close)) });
      i = close < 0 ? i + run : close + run;
    } else if (ch === '*' || ch === '_' || ch === '~') {
      const run = runLength(source, i, ch);
      const delimiter = delim(ch, run, source[i - 1], source[i + run]);
      if (delimiter) node(delimiter);
      else text += ch.repeat(run);
      i += run;
    } else if (ch === '[' || (ch === '!' && source[i + 1] === '[')) {
      const image = ch === '!';
      node({ t: 'bracket', s: image ? '![' : '[' });
      brackets.push({ at: tokens.length - 1, image, from: i + (image ? 2 : 1) });
      i += image ? 2 : 1;
    } else if (ch === ']') {
      const bracket = brackets.pop();
      found = bracket && match(TARGET, source, i + 1);
      const target = found ? { href: found[1] ?? found[2] ?? '', title: found[3] ?? found[4] ?? '', end: TARGET.lastIndex }
        : bracket && reference(source, bracket.from, i, links);
      if (target) {
        flush();
        const inner = resolve(tokens.splice(bracket.at + 1));
        tokens.pop();
        if (bracket.image) tokens.push({ t: 'image', href: target.href, s: plainText(inner) });
        else {
          tokens.push({ t: 'link', href: target.href, title: target.title, c: inner });
          brackets.length = 0; // links do not nest
        }
        i = target.end;
      } else {
        text += ']';
        i++;
      }
    } else if (ch === '<' && (found = match(AUTOLINK, source, i))) {
      const mail = !/^(?:https?:|mailto:)/i.test(found[1]);
      node({ t: 'link', href: mail ? `mailto:${found[1]}` : found[1], title: '', c: [{ t: 'text', s: found[1] }] });
      i = AUTOLINK.lastIndex;
    } else if (ch === '<' && match(BREAK_TAG, source, i)) {
      // The only tag honoured: models use it inside table cells.
      node({ t: 'br' });
      i = BREAK_TAG.lastIndex;
    } else if (ch === '&' && (found = match(ENTITY, source, i)) && entity(found) !== undefined) {
      text += entity(found);
      i = ENTITY.lastIndex;
    } else if (ch === ':' && source[i + 1] === '/' && (found = bareLink(source, i, text))) {
      text = text.slice(0, text.length - found.scheme.length);
      const href = found.scheme + found.rest;
      node({ t: 'link', href, title: '', c: [{ t: 'text', s: href }] });
      i += found.rest.length;
    } else {
      text += ch;
      i++;
    }
  }
  flush();
  return resolve(tokens, open);
}

// By hand, since a `+$` pattern is quadratic on long runs in mid-text.
function trimEndOf(text, chars) {
  let end = text.length;
  while (end > 0 && chars.includes(text[end - 1])) end--;
  return text.slice(0, end);
}

function runLength(source, at, ch) {
  let end = at;
  while (source[end] === ch) end++;
  return end - at;
}

// Remembers the lengths which have no partner left, so that a text full of
// lone backticks is not searched to its end for each of them.
function closingTicks(source, from, run, unclosed) {
  if (unclosed.has(run)) return -1;
  let at = source.indexOf('`', from);
  while (at >= 0) {
    const length = runLength(source, at, '`');
    if (length === run) return at;
    at = source.indexOf('`', at + length);
  }
  unclosed.add(run);
  return -1;
}

function codeText(raw) {
  const flat = raw.replace(/\n/g, ' ');
  const padded = flat.startsWith(' ') && flat.endsWith(' ') && flat.trim() !== '';
  return padded ? flat.slice(1, -1) : flat;
}

function entity(found) {
  if (found[1]) return ENTITIES.get(found[1]);
  const code = found[2] ? Number(found[2]) : parseInt(found[3], 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
}

function bareLink(source, at, before) {
  const scheme = /(?:^|[^\p{L}\p{N}]|[^\x00-\x7f])(https?)$/iu.exec(before.slice(-6))?.[1];
  const found = scheme && match(BARE, source, at);
  if (!found) return null;
  // Punctuation at the end belongs to the sentence, not to the URL.
  let rest = trimEndOf(found[0], ".,;:!?'*~");
  if (!rest.includes('(')) rest = trimEndOf(rest, ')');
  return rest.length > 3 ? { scheme, rest } : null;
}

// Looser than the standard for `*`: there, `**中文。**后` would stay unbold, as
// Chinese puts no space after a closing mark. `_` keeps to word boundaries.
function delim(ch, n, before, after) {
  if (ch === '~' && n !== 2) return null;
  const strict = ch === '_';
  const open = !isSpace(after) && !(strict && isWord(before));
  const close = !isSpace(before) && !(strict && isWord(after));
  return open || close ? { t: 'delim', ch, n, open, close } : null;
}

function pairs(opener, closer) {
  if (opener.ch !== closer.ch) return false;
  if (opener.close || closer.open) {
    const odd = (opener.n + closer.n) % 3 === 0 && (opener.n % 3 !== 0 || closer.n % 3 !== 0);
    if (odd && opener.ch !== '~') return false;
  }
  return true;
}

// Pairs emphasis marks the CommonMark way (a stack of openers, with a floor
// per kind under which a search has failed before), then builds the tree.
function resolve(tokens, growing = false) {
  const stack = [];
  const floors = new Map();
  for (const closer of tokens) {
    if (closer.t !== 'delim') continue;
    closer.left = closer.n;
    closer.opens = [];
    closer.closes = [];
    if (closer.close) {
      const kind = `${closer.ch}${closer.open ? 1 : 0}${closer.n % 3}`;
      while (closer.left > 0) {
        const floor = floors.get(kind) ?? 0;
        let at = stack.length - 1;
        while (at >= floor && !pairs(stack[at], closer)) at--;
        if (at < floor) {
          floors.set(kind, stack.length);
          break;
        }
        const opener = stack[at];
        const use = opener.left >= 2 && closer.left >= 2 ? 2 : 1;
        const tag = closer.ch === '~' ? 'del' : use === 2 ? 'strong' : 'em';
        opener.left -= use;
        closer.left -= use;
        opener.opens.push(tag);
        closer.closes.push(tag);
        stack.length = opener.left > 0 ? at + 1 : at;
        for (const [key, value] of floors) if (value > stack.length) floors.set(key, stack.length);
      }
    }
    if (closer.open && closer.left > 0) stack.push(closer);
  }
  if (growing) {
    for (const opener of stack) {
      if (opener.left < 2) continue;
      opener.left -= 2;
      opener.opens.push(opener.ch === '~' ? 'del' : 'strong');
    }
  }
  return build(tokens);
}

function build(tokens) {
  const root = [];
  const path = [root];
  const say = (s) => {
    const top = path[path.length - 1];
    const last = top[top.length - 1];
    if (last?.t === 'text') last.s += s;
    else top.push({ t: 'text', s });
  };
  for (const token of tokens) {
    if (token.t === 'text' || token.t === 'bracket') say(token.s);
    else if (token.t !== 'delim') path[path.length - 1].push(token);
    else {
      for (let k = 0; k < token.closes.length; k++) path.pop();
      if (token.left > 0) say(token.ch.repeat(token.left));
      // Inner pairs were found first; the outermost must open first.
      for (const tag of token.opens.reverse()) {
        const top = path[path.length - 1];
        if (path.length > MAX_DEPTH) {
          path.push(top);
        } else {
          const child = { t: tag, c: [] };
          top.push(child);
          path.push(child.c);
        }
      }
    }
  }
  return root;
}
