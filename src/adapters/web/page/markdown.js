// Markdown to DOM nodes. Builds elements one by one from the parsed tree, so that content cannot
// become markup, and re-renders only the changed blocks, so that a long reply stays cheap while it
// grows.

import { copyButton, h, icon, safeHref, setText } from './dom.js';
import { FileView, ownFile } from './file-view.js';
import { lazily } from './lazy.js';
import { definitionsIn, parseBlocks } from './md-blocks.js';
import { parseInline } from './md-inline.js';
import { t } from './strings.js';

const diagrams = lazily(() => import('./mermaid.js'));
const formulas = lazily(() => import('./math.js'));
const colours = lazily(() => import('./highlight.js'));

/** @type {Map<string, {href: string, title: string}>} the link definitions of the text that is being rendered */
let links = new Map();

// Blocks are kept in runs of this many. A growing reply lays out its last run
// only, and runs out of sight cost nothing (see chat.css).
const RUN = 48;

/** Per container: the current blocks, and the prefix that cannot change again. */
const memory = new WeakMap();

/**
 * Shows `source` in `container`; call again with more text as it arrives.
 * `growing` lets the last block end in the middle of a mark.
 */
export function renderMarkdown(container, source, growing = false) {
  const text = source.includes('\r') ? source.replace(/\r\n?/g, '\n') : source;
  let state = memory.get(container);
  if (state?.text === text && state.growing === growing) return;
  const known = state?.links;
  links = linksOf(text, growing);
  // A definition may come behind what names it: then everything is rendered again.
  const defined = known && !sameLinks(known, links);
  if (!state || defined || !text.startsWith(state.text)) {
    if (defined) container.replaceChildren();
    state = { text: '', offset: 0, settled: 0, shown: defined ? [] : state?.shown ?? [], links };
    memory.set(container, state);
  }
  state.links = links;

  const lines = text.slice(state.offset).split('\n');
  const blocks = parseBlocks(lines);
  blocks.forEach((block, k) => {
    const at = state.settled + k;
    const src = lines.slice(block.start, block.end).join('\n');
    const old = state.shown[at];
    const open = growing && k === blocks.length - 1;
    if (old && old.src === src && old.t === block.t && old.open === open) return;
    const el = renderBlock(block, open);
    if (old) old.el.replaceWith(el);
    else runFor(container, at).append(el);
    state.shown[at] = { src, t: block.t, open, el };
  });
  for (const extra of state.shown.splice(state.settled + blocks.length)) extra.el.remove();
  while (container.lastChild && !container.lastChild.hasChildNodes()) container.lastChild.remove();

  // More text can change the last block, and (a list that continues after a blank line) the one
  // before it. All others are settled and not parsed again.
  const done = Math.max(0, blocks.length - 2);
  if (done > 0) {
    for (let line = 0; line < blocks[done].start; line++) state.offset += lines[line].length + 1;
    state.settled += done;
  }
  state.text = text;
  state.growing = growing;
}

// While the text grows, its last line may still be cut off in the middle of a target.
function linksOf(text, growing) {
  if (!text.includes(']:')) return new Map();
  const lines = text.split('\n');
  return definitionsIn(growing ? lines.slice(0, -1) : lines);
}

function sameLinks(one, other) {
  if (one.size !== other.size) return false;
  return [...one].every(([label, { href, title }]) => other.get(label)?.href === href && other.get(label).title === title);
}

function runFor(container, at) {
  const index = Math.floor(at / RUN);
  if (!container.children[index]) container.append(h('div', { class: 'run' }));
  return container.children[index];
}

function renderBlock(block, open = false) {
  switch (block.t) {
    case 'heading':
      // The page has its own h1 and h2; a reply's headings come below them.
      return h(`h${Math.min(6, block.level + 2)}`, { class: `md-h md-h${block.level}` }, inline(block.text, open));
    case 'code':
      return block.lang === 'mermaid' && !open ? diagram(block) : codeBlock(block);
    case 'rule':
      return h('hr');
    case 'quote':
      return h('blockquote', null, block.blocks.map((child) => renderBlock(child, open)));
    case 'list':
      return list(block, open);
    case 'table':
      return table(block);
    case 'note':
      return h('div', { class: 'footnote', 'data-note': block.id, tabindex: '-1' }, h('sup', { text: block.id }), h('div', null, block.blocks.map((child) => renderBlock(child, open))));
    case 'math':
      return formula(block.text, true);
    case 'def':
      return h('span', { hidden: true });
    default:
      return h('p', null, inline(block.text, open));
  }
}

// What a line of a difference is, by how it begins.
/** @type {[RegExp, string][]} */
const DIFF_LINES = [[/^(?:\+\+\+|---) /, 'diff-file'], [/^@@/, 'diff-hunk'], [/^\+/, 'diff-add'], [/^-/, 'diff-del']];

// Each line holds its own line break, so that copying yields the original text.
function diffLines(text) {
  return text.split('\n').map((line, at, lines) => {
    const kind = DIFF_LINES.find(([pattern]) => pattern.test(line))?.[1];
    return h('span', { class: kind ? `diff-line ${kind}` : 'diff-line', text: at < lines.length - 1 ? `${line}\n` : line });
  });
}

// Beyond so many lines code is folded to about this many.
const FOLD_LINES = 30;

function colour(code, block) {
  if (block.lang === 'diff') {
    code.append(...diffLines(block.text));
    return;
  }
  code.textContent = block.text;
  if (!block.lang) return;
  colours.use(({ highlight }) => {
    const pieces = highlight(block.lang, block.text);
    if (pieces) code.replaceChildren(...pieces.map(([kind, text]) => (kind ? h('span', { class: `hl-${kind}`, text }) : document.createTextNode(text))));
  });
}

const SVG = 'http://www.w3.org/2000/svg';
const DRAWN = new Set(['rect', 'ellipse', 'polygon', 'path', 'text']);
const DRAWN_ATTRIBUTES = new Set(['class', 'x', 'y', 'width', 'height', 'rx', 'ry', 'cx', 'cy', 'd', 'points', 'text-anchor', 'dominant-baseline']);

// The source of a diagram, and above it the picture where it is understood.
function diagram(block) {
  const source = codeBlock(block);
  const el = h('div', { class: 'diagram' }, source);
  diagrams.use(({ draw }) => {
    const drawn = draw(block.text);
    if (!drawn) return;
    const svg = document.createElementNS(SVG, 'svg');
    const { width, height } = drawn;
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': t('diagram') })) svg.setAttribute(name, String(value));
    for (const { tag, attrs, text } of drawn.children) {
      if (!DRAWN.has(tag)) continue;
      const part = document.createElementNS(SVG, tag);
      for (const [name, value] of Object.entries(attrs)) if (DRAWN_ATTRIBUTES.has(name)) part.setAttribute(name, String(value));
      if (text !== undefined) part.textContent = text;
      svg.append(part);
    }
    el.replaceChildren(
      h('div', { class: 'diagram-picture', tabindex: '0', role: 'group', 'aria-label': t('diagram'), 'data-testid': 'diagram' }, svg),
      h('details', null, h('summary', { text: t('diagramSource') }), source));
  });
  return el;
}

function codeBlock(block) {
  const code = h('code');
  colour(code, block);
  const pre = h('pre', { tabindex: '0' }, code);
  const wrap = h('button', {
    type: 'button', class: 'copy', 'aria-pressed': 'false', 'aria-label': t('codeWrap'), title: t('codeWrap'), 'data-testid': 'code-wrap',
    onclick: () => wrap.setAttribute('aria-pressed', String(pre.classList.toggle('wrapped'))),
  }, icon('wrap'));
  const lines = block.text.split('\n').length;
  const folds = lines > FOLD_LINES + 5;
  const fold = h('button', {
    type: 'button', class: 'code-more', 'aria-expanded': 'false', 'data-testid': 'code-more', text: t('codeMore', { count: lines }),
    onclick: () => {
      const open = !pre.classList.toggle('folded');
      fold.setAttribute('aria-expanded', String(open));
      setText(fold, open ? t('codeLess') : t('codeMore', { count: lines }));
    },
  });
  if (folds) pre.classList.add('folded');
  return h('div', { class: 'code' },
    h('div', { class: 'code-head' },
      h('span', { class: 'code-lang', text: block.lang }),
      wrap,
      copyButton({ copy: t('copy'), copied: t('copied') }, () => code.textContent)),
    pre,
    folds ? fold : null);
}

const MATHML = 'http://www.w3.org/1998/Math/MathML';
const MATH_ATTRIBUTES = ['mathvariant', 'width', 'linethickness', 'accent'];

/** @param {any} tree */
function mathNode({ tag, text, children = [], attrs = {} }) {
  const el = document.createElementNS(MATHML, tag);
  for (const name of MATH_ATTRIBUTES) if (attrs[name] !== undefined) el.setAttribute(name, attrs[name]);
  if (text !== undefined) el.textContent = text;
  el.append(...children.map(mathNode));
  return el;
}

// A formula that is not understood is shown as it was typed.
function formula(source, display) {
  const typed = display ? h('div', { class: 'code' }, h('pre', { tabindex: '0' }, h('code', { text: source }))) : h('code', { text: source });
  const el = h(display ? 'div' : 'span', { class: display ? 'math-block' : 'math' }, typed);
  formulas.use(({ parseMath }) => {
    const tree = parseMath(source);
    if (!tree) return;
    const math = document.createElementNS(MATHML, 'math');
    if (display) {
      math.setAttribute('display', 'block');
      el.setAttribute('tabindex', '0');
    }
    math.append(mathNode(tree));
    el.dataset.testid = 'math';
    el.replaceChildren(math);
  });
  return el;
}

function footnoteRef(id) {
  return h('sup', null, h('button', {
    type: 'button', class: 'footnote-ref', 'aria-label': t('footnote', { id }), text: id,
    onclick: (event) => {
      const note = event.currentTarget.closest('.md')?.querySelector(`[data-note="${CSS.escape(id)}"]`);
      note?.scrollIntoView({ block: 'nearest' });
      note?.focus({ preventScroll: true });
    },
  }));
}

function list(block, open) {
  const el = h(block.ordered ? 'ol' : 'ul', {
    class: block.loose ? 'loose' : null,
    start: block.ordered && block.first !== 1 ? block.first : null,
  });
  for (const item of block.items) {
    const li = h('li', { class: item.task === null ? null : 'task' });
    if (item.task !== null) {
      const box = h('input', { type: 'checkbox', disabled: true, 'aria-label': t(item.task ? 'taskDone' : 'taskOpen') });
      box.checked = item.task;
      li.append(box);
    }
    item.blocks.forEach((child, k) => {
      // Tight lists read as lines, not as paragraphs with space between.
      if (child.t === 'para' && !block.loose && k === 0) li.append(...inline(child.text, open));
      else li.append(renderBlock(child, open));
    });
    el.append(li);
  }
  return el;
}

function table(block) {
  const row = (tag, texts) => h('tr', null, texts.map((text, k) =>
    h(tag, {
      class: block.align[k] ? `align-${block.align[k]}` : null,
      scope: tag === 'th' ? 'col' : null,
    }, inline(text))));
  return h('div', { class: 'table', tabindex: '0' },
    h('table', null,
      h('thead', null, row('th', block.head)),
      h('tbody', null, block.rows.map((texts) => row('td', texts)))));
}

const inline = (text, open) => nodes(parseInline(text, open, links));

const nodes = (tree) => tree.map((node) => {
  switch (node.t) {
    case 'text':
      return document.createTextNode(node.s);
    case 'code':
      return h('code', { text: node.s });
    case 'br':
      return h('br');
    case 'math':
      return formula(node.s, false);
    case 'ref':
      return footnoteRef(node.id);
    case 'link':
      return link(node.href, node.title, nodes(node.c));
    case 'image':
      return ownFile(node.href) ? picture(node) : link(node.href, '', [document.createTextNode(`[${t('image')}${node.s ? `: ${node.s}` : ''}]`)]);
    default:
      return h(node.t, null, nodes(node.c));
  }
});

// Only files of the daemon are loaded: fetching an image of another host that a model names would tell
// that host that, and when, the text was read.
function picture({ href, s }) {
  const view = new FileView();
  view.update({ type: 'file', mediaType: 'image/png', url: href, filename: s || undefined });
  return view.el;
}

function link(target, title, children) {
  const href = safeHref(target);
  if (!href) return h('span', { class: 'dead-link' }, children);
  return h('a', { href, title: title || null, target: '_blank', rel: 'noopener noreferrer' }, children);
}
