// Block-level Markdown: lines to a tree of blocks. Pure. Unfinished input (an
// open fence, half a table) is normal here, since replies arrive in pieces.

// Quotes and lists nest at most this deep; deeper markers are just text.
const MAX_DEPTH = 12;

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const QUOTE = /^ {0,3}> ?/;
const MARKER = /^( {0,3})([-*+]|\d{1,9}[.)])(?=[ \t]|$)/;
const SETEXT = /^ {0,3}(=+|-+)[ \t]*$/;
const FOOTNOTE = /^ {0,3}\[\^([^\]\s]{1,64})\]:[ \t]*/;
const DEFINITION = /^ {0,3}\[(?!\^)((?:[^\\[\]]|\\.){1,300})\]:[ \t]*(?:<([^<>]{0,2000})>|([^\s<]\S{0,2000}))(?:[ \t]+(?:"([^"]{0,500})"|'([^']{0,500})'|\(([^)]{0,500})\)))?[ \t]*$/;
const MATH_OPEN = /^ {0,3}(?:\$\$|\\\[)/;
const DELIMITER_CELL = /^:?-+:?$/;

const isBlank = (line) => line.trim() === '';

function indentOf(line) {
  let columns = 0;
  for (const ch of line) {
    if (ch === ' ') columns++;
    else if (ch === '\t') columns += 4 - (columns % 4);
    else break;
  }
  return columns;
}

function stripIndent(line, columns) {
  let at = 0;
  let seen = 0;
  while (seen < columns && (line[at] === ' ' || line[at] === '\t')) {
    seen += line[at] === '\t' ? 4 - (seen % 4) : 1;
    at++;
  }
  return line.slice(at);
}

function marker(line) {
  const found = MARKER.exec(line);
  if (!found || RULE.test(line)) return null;
  const rest = line.slice(found[0].length);
  const gap = indentOf(rest);
  const empty = isBlank(rest);
  const width = found[0].length;
  const ordered = found[2].length > 1;
  return {
    indent: found[1].length,
    // More than four spaces are code inside the item, not its indentation.
    content: empty || gap > 4 ? width + 1 : width + gap,
    rest: empty ? '' : stripIndent(rest, gap > 4 ? 1 : gap),
    kind: ordered ? found[2].at(-1) : found[2],
    ordered,
    empty,
    start: ordered ? parseInt(found[2], 10) : 1,
  };
}

// What may end a paragraph without a blank line before it.
function interrupts(line) {
  if (FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)) return true;
  const item = marker(line);
  return item !== null && !item.empty && (!item.ordered || item.start === 1);
}

/** Cells of a table row; escaped pipes stay in the cell. */
function cells(line) {
  let row = line.trim();
  if (row.startsWith('|')) row = row.slice(1);
  const out = [];
  let cell = '';
  for (let i = 0; i < row.length; i++) {
    if (row[i] === '\\' && row[i + 1] === '|') {
      cell += '|';
      i++;
    } else if (row[i] === '|') {
      out.push(cell.trim());
      cell = '';
    } else cell += row[i];
  }
  if (cell.trim() !== '') out.push(cell.trim());
  return out;
}

function tableAlign(header, delimiter) {
  if (delimiter === undefined || !header.includes('|') || !delimiter.includes('-')) return null;
  if (!delimiter.includes('|') && !delimiter.includes(':')) return null;
  const columns = cells(delimiter);
  if (!columns.length || !columns.every((cell) => DELIMITER_CELL.test(cell))) return null;
  if (cells(header).length !== columns.length) return null;
  return columns.map((cell) =>
    cell.endsWith(':') ? (cell.startsWith(':') ? 'center' : 'right') : cell.startsWith(':') ? 'left' : '',
  );
}

/**
 * Blocks with their line range `[start, end)`: `para {text}`, `heading {level,
 * text}`, `code {lang, text}`, `rule`, `quote {blocks}`, `list {ordered, first,
 * loose, items:[{task, blocks}]}`, `table {align, head, rows}`, `note {id, blocks}`, `math {text}`, `def {label, href, title}`.
 */
export function parseBlocks(lines, depth = 0) {
  const blocks = [];
  const ends = new Map();
  let i = 0;
  while (i < lines.length) {
    if (isBlank(lines[i])) {
      i++;
      continue;
    }
    const block = fence(lines, i) ?? indented(lines, i) ?? heading(lines, i) ?? rule(lines, i) ?? math(lines, i, ends)
      ?? (depth < MAX_DEPTH ? quote(lines, i, depth) ?? list(lines, i, depth) ?? footnote(lines, i, depth) : null) ?? definition(lines, i)
      ?? table(lines, i) ?? paragraph(lines, i);
    block.start = i;
    blocks.push(block);
    i = block.end;
  }
  return blocks;
}

function fence(lines, at) {
  const open = FENCE.exec(lines[at]);
  if (!open) return null;
  const indent = indentOf(lines[at]);
  const mark = open[1];
  const body = [];
  let i = at + 1;
  for (; i < lines.length; i++) {
    const close = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(lines[i]);
    if (close && close[1][0] === mark[0] && close[1].length >= mark.length) break;
    body.push(stripIndent(lines[i], indent));
  }
  return { t: 'code', lang: open[2].trim().split(/\s/, 1)[0], text: body.join('\n'), end: Math.min(i + 1, lines.length) };
}

function indented(lines, at) {
  if (indentOf(lines[at]) < 4) return null;
  const body = [];
  let i = at;
  while (i < lines.length && (isBlank(lines[i]) || indentOf(lines[i]) >= 4)) body.push(stripIndent(lines[i++], 4));
  while (isBlank(body.at(-1))) {
    body.pop();
    i--;
  }
  return { t: 'code', lang: '', text: body.join('\n'), end: i };
}

function heading(lines, at) {
  const found = HEADING.exec(lines[at]);
  if (!found) return null;
  const text = lines[at].slice(found[0].length).trim().replace(/(?:^|[ \t])#+$/, '').trim();
  return { t: 'heading', level: found[1].length, text, end: at + 1 };
}

function rule(lines, at) {
  return RULE.test(lines[at]) ? { t: 'rule', end: at + 1 } : null;
}

/**
 * A formula between `$$` and `$$`, or `\\[` and `\\]`, on lines of its own. `ends` keeps where the next
 * formula can end, so that a text full of open ones is searched once.
 */
function math(lines, at, ends) {
  const open = MATH_OPEN.exec(lines[at]);
  if (!open) return null;
  const close = open[0].trim() === '$$' ? '$$' : '\\]';
  const first = lines[at].slice(open[0].length);
  let end = at;
  if (!first.includes(close)) {
    end = ends.get(close) ?? 0;
    if (end <= at) {
      end = at + 1;
      while (end < lines.length && !isBlank(lines[end]) && !lines[end].includes(close)) end++;
      ends.set(close, end);
    }
  }
  const last = end === at ? first : lines[end] ?? '';
  const stop = last.indexOf(close);
  if (stop < 0 || !isBlank(last.slice(stop + close.length))) return null;
  const body = end === at ? [] : [first, ...lines.slice(at + 1, end)];
  return { t: 'math', text: [...body, last.slice(0, stop)].join('\n').trim(), end: end + 1 };
}

/** A label as links name it: the case and the kind of spaces do not count. */
export const labelOf = (text) => text.trim().replace(/\s+/g, ' ').toLowerCase();

function definition(lines, at) {
  const found = DEFINITION.exec(lines[at]);
  if (!found) return null;
  return { t: 'def', label: labelOf(found[1]), href: found[2] ?? found[3], title: found[4] ?? found[5] ?? found[6] ?? '', end: at + 1 };
}

/** The link definitions of some lines by their labels; the first one of a label counts. */
export function definitionsIn(lines, known = new Map()) {
  for (let at = 0; at < lines.length; at++) {
    const found = lines[at].includes(']:') ? definition(lines, at) : null;
    if (found && !known.has(found.label)) known.set(found.label, { href: found.href, title: found.title });
  }
  return known;
}

function footnote(lines, at, depth) {
  const found = FOOTNOTE.exec(lines[at]);
  if (!found) return null;
  const body = [lines[at].slice(found[0].length)];
  let i = at + 1;
  for (; i < lines.length; i++) {
    const goesOn = isBlank(lines[i]) ? indentOf(lines[i + 1] ?? '') >= 2 : indentOf(lines[i]) >= 2 || (!isBlank(body.at(-1)) && !interrupts(lines[i]) && !FOOTNOTE.test(lines[i]));
    if (!goesOn) break;
    body.push(stripIndent(lines[i], 4));
  }
  return { t: 'note', id: found[1], blocks: parseBlocks(body, depth + 1), end: i };
}

function quote(lines, at, depth) {
  if (!QUOTE.test(lines[at])) return null;
  const body = [];
  let i = at;
  for (; i < lines.length; i++) {
    if (QUOTE.test(lines[i])) body.push(lines[i].replace(QUOTE, ''));
    // A paragraph may go on without the mark; anything else ends the quote.
    else if (isBlank(lines[i]) || isBlank(body.at(-1)) || interrupts(lines[i])) break;
    else body.push(lines[i]);
  }
  return { t: 'quote', blocks: parseBlocks(body, depth + 1), end: i };
}

function list(lines, at, depth) {
  const first = marker(lines[at]);
  if (!first) return null;
  const items = [];
  let loose = false;
  let end = at;
  let i = at;
  while (i < lines.length) {
    const item = marker(lines[i]);
    if (!item || item.kind !== first.kind) break;
    const body = [item.rest];
    i = collectItem(lines, i + 1, item, body);
    let blanks = 0;
    while (body.length > 1 && isBlank(body.at(-1))) {
      body.pop();
      blanks++;
    }
    end = i - blanks;
    const task = /^\[([ xX])\](?=[ \t]|$)/.exec(body[0] ?? '');
    if (task) body[0] = body[0].slice(3).trimStart();
    const inner = parseBlocks(body, depth + 1);
    items.push({ task: task ? task[1] !== ' ' : null, blocks: inner });
    // A blank line between two parts of an item makes all items paragraphs.
    if (inner.some((block, at) => at > 0 && block.start > inner[at - 1].end)) loose = true;
    const next = i < lines.length ? marker(lines[i]) : null;
    if (blanks > 0 && next?.kind === first.kind) loose = true;
  }
  return { t: 'list', ordered: first.ordered, first: first.start, loose, items, end: Math.max(end, at + 1) };
}

// Adds the lines of one item to `body`; returns where the next thing begins.
function collectItem(lines, from, item, body) {
  let i = from;
  let blank = isBlank(body[0]);
  for (; i < lines.length; i++) {
    const line = lines[i];
    if (isBlank(line)) {
      body.push('');
      blank = true;
      continue;
    }
    const indent = indentOf(line);
    // Two spaces are enough to nest a list, even under "1.": models write so.
    const nested = indent >= item.indent + 2 && marker(line.trimStart()) !== null;
    if (indent >= item.content || nested) body.push(stripIndent(line, Math.min(indent, item.content)));
    else if (blank || marker(line) || interrupts(line)) break;
    else body.push(line.trimStart());
    blank = false;
  }
  return i;
}

function table(lines, at) {
  const align = tableAlign(lines[at], lines[at + 1]);
  if (!align) return null;
  const rows = [];
  let i = at + 2;
  for (; i < lines.length; i++) {
    if (isBlank(lines[i]) || interrupts(lines[i]) || !lines[i].includes('|')) break;
    const row = cells(lines[i]).slice(0, align.length);
    while (row.length < align.length) row.push('');
    rows.push(row);
  }
  return { t: 'table', align, head: cells(lines[at]), rows, end: i };
}

function paragraph(lines, at) {
  const body = [lines[at].trimStart()];
  let i = at + 1;
  for (; i < lines.length; i++) {
    const under = SETEXT.exec(lines[i]);
    // While text arrives, the first dash of a list must not make a heading of the line before.
    if (under && (under[1].length > 2 || i < lines.length - 1)) {
      return { t: 'heading', level: under[1][0] === '=' ? 1 : 2, text: body.join('\n').trimEnd(), end: i + 1 };
    }
    if (isBlank(lines[i]) || interrupts(lines[i]) || FOOTNOTE.test(lines[i]) || MATH_OPEN.test(lines[i]) || tableAlign(lines[i], lines[i + 1])) break;
    body.push(lines[i].trimStart());
  }
  return { t: 'para', text: body.join('\n').trimEnd(), end: i };
}
