// Diagrams of Mermaid: flowcharts and sequence diagrams as a tree for SVG. What is not understood is
// null, and shown as it was typed. Pure; no imports, since it is loaded when it is first needed.

const MOST_CHARS = 20_000;
const MOST_NODES = 150;
const MOST_EDGES = 300;
const MOST_STEPS = 200;
const LINE = 18;
const WRAP = 28;

/** @typedef {{tag: string, attrs: Record<string, string|number>, text?: string, children?: Drawn[]}} Drawn */

/** @returns {Drawn} */
const el = (tag, attrs, text) => ({ tag, attrs, ...(text === undefined ? {} : { text }) });
const round = (value) => Math.round(value * 10) / 10;

// A wide letter takes about twice as much.
const widthOf = (line) => [...line].reduce((sum, ch) => sum + (ch.codePointAt(0) > 0x2e80 ? 14 : 7.4), 0);

/** A label as lines: breaks as written, long ones wrapped. */
function linesOf(label) {
  const text = label.replace(/^"([^]*)"$/, '$1').replace(/#quot;/g, '"').replace(/#35;/g, '#');
  return text.split(/<br\s*\/?>|\\n/i).flatMap((line) => {
    const out = [''];
    for (const word of line.trim().split(/\s+/)) {
      const last = out[out.length - 1];
      if (last && widthOf(`${last} ${word}`) > WRAP * 7.4) out.push(word);
      else out[out.length - 1] = last ? `${last} ${word}` : word;
    }
    return out;
  });
}

const boxOf = (lines) => ({ w: Math.max(36, ...lines.map(widthOf)) + 24, h: lines.length * LINE + 16 });

function words(lines, x, y, kind = 'diagram-text', anchor = 'middle') {
  const top = y - ((lines.length - 1) * LINE) / 2;
  return lines.map((line, at) => el('text', { class: kind, x: round(x), y: round(top + at * LINE), 'text-anchor': anchor, 'dominant-baseline': 'central' }, line));
}

function arrow([x, y], [fromX, fromY]) {
  const angle = Math.atan2(y - fromY, x - fromX);
  const side = (turn) => `${round(x - 9 * Math.cos(angle + turn))},${round(y - 9 * Math.sin(angle + turn))}`;
  return el('polygon', { class: 'diagram-head', points: `${round(x)},${round(y)} ${side(0.42)} ${side(-0.42)}` });
}

// --- flowcharts ---

const SHAPES = [['([', '])', 'pill'], ['[[', ']]', 'box'], ['[(', ')]', 'pill'], ['((', '))', 'circle'], ['{{', '}}', 'hex'], ['[/', '/]', 'box'], ['[\\', '\\]', 'box'], ['[', ']', 'box'], ['(', ')', 'round'], ['{', '}', 'diamond'], ['>', ']', 'box']];
const LINK = /^\s*(<|o|x)?(--+|==+|-\.+-?)(?:\s*([^-=.>|\s][^|]*?)\s*(--+|==+|\.+-))?(>|o(?=\s)|x(?=\s)|)(?:\|([^|]*)\|)?\s*/;
const IGNORED = /^(?:%%|classDef\b|class\b|style\b|linkStyle\b|click\b|accTitle\b|accDescr\b)/;

class FlowReader {
  constructor() {
    /** @type {Map<string, {id: string, lines: string[], shape: string}>} */
    this.nodes = new Map();
    /** @type {{from: string, to: string, label: string[], line: string, head: boolean, tail: boolean}[]} */
    this.edges = [];
  }

  node(rest) {
    const id = /^\s*([\p{L}\p{N}_][\p{L}\p{N}_.]*(?:-[\p{L}\p{N}_.]+)*)/u.exec(rest);
    if (!id) return null;
    let tail = rest.slice(id[0].length);
    let known = this.nodes.get(id[1]);
    if (!known) this.nodes.set(id[1], known = { id: id[1], lines: linesOf(id[1]), shape: 'box' });
    const shape = SHAPES.find(([open]) => tail.startsWith(open));
    if (shape) {
      const [open, close, name] = shape;
      const quoted = tail[open.length] === '"' ? tail.indexOf('"', open.length + 1) : -1;
      const end = tail.indexOf(close, Math.max(open.length, quoted));
      if (end < 0) return null;
      known.lines = linesOf(tail.slice(open.length, end).trim());
      known.shape = name;
      tail = tail.slice(end + close.length);
    }
    return [known.id, tail.replace(/^:::[\w-]+/, '')];
  }

  group(rest) {
    const ids = [];
    for (;;) {
      const read = this.node(rest);
      if (!read) return null;
      ids.push(read[0]);
      rest = read[1];
      const more = /^\s*&/.exec(rest);
      if (!more) return [ids, rest];
      rest = rest.slice(more[0].length);
    }
  }

  /** Returns whether a statement is understood. */
  statement(text) {
    let read = this.group(text);
    if (!read) return false;
    let [from, rest] = read;
    while (rest.trim() !== '') {
      const link = LINK.exec(rest);
      if (!link) return false;
      read = this.group(rest.slice(link[0].length));
      if (!read) return false;
      const [, tail, mark, inner, , head, label] = link;
      const line = mark.startsWith('=') ? 'thick' : mark.startsWith('-.') ? 'dotted' : 'solid';
      for (const one of from) {
        for (const other of read[0]) this.edges.push({ from: one, to: other, label: label || inner ? linesOf(label ?? inner) : [], line, head: head !== '', tail: tail !== undefined });
      }
      [from, rest] = read;
    }
    return this.nodes.size <= MOST_NODES && this.edges.length <= MOST_EDGES;
  }
}

/** The rank of each node: behind all that lead to it, without the links that go back. */
function ranksOf(nodes, edges) {
  const out = new Map([...nodes.keys()].map((id) => [id, []]));
  for (const edge of edges) if (edge.from !== edge.to) out.get(edge.from).push(edge);
  const state = new Map();
  const order = [];
  const back = new Set();
  for (const start of nodes.keys()) {
    const stack = state.has(start) ? [] : [[start, 0]];
    if (stack.length) state.set(start, 'open');
    while (stack.length) {
      const top = stack[stack.length - 1];
      const edge = out.get(top[0])[top[1]++];
      if (!edge) {
        state.set(top[0], 'done');
        order.unshift(top[0]);
        stack.pop();
      } else if (state.get(edge.to) === 'open') back.add(edge);
      else if (!state.has(edge.to)) {
        state.set(edge.to, 'open');
        stack.push([edge.to, 0]);
      }
    }
  }
  const rank = new Map(order.map((id) => [id, 0]));
  for (const id of order) for (const edge of out.get(id)) if (!back.has(edge)) rank.set(edge.to, Math.max(rank.get(edge.to), rank.get(id) + 1));
  return rank;
}

function flowchart(direction, lines) {
  const reader = new FlowReader();
  for (const line of lines) {
    for (const text of line.split(';')) {
      const trimmed = text.trim();
      if (trimmed === '' || IGNORED.test(trimmed)) continue;
      if (/^(?:subgraph|end|direction)\b/.test(trimmed) || !reader.statement(trimmed)) return null;
    }
  }
  const { nodes, edges } = reader;
  if (nodes.size === 0) return null;
  const rank = ranksOf(nodes, edges);
  // Links over several ranks pass through places of their own, so that they go around what stands between.
  const layers = [];
  const put = (at, item) => (layers[at] ??= []).push(item);
  const items = new Map();
  for (const node of nodes.values()) {
    const box = boxOf(node.lines);
    if (node.shape === 'diamond') Object.assign(box, { w: box.w * 1.35, h: box.h * 1.5 });
    if (node.shape === 'circle') box.w = box.h = Math.max(box.w, box.h);
    const item = { ...node, ...box, x: 0, y: 0, near: [] };
    items.set(node.id, item);
    put(rank.get(node.id), item);
  }
  const paths = edges.map((edge) => {
    const [from, to] = [items.get(edge.from), items.get(edge.to)];
    const step = Math.sign(rank.get(edge.to) - rank.get(edge.from));
    const via = [];
    for (let at = rank.get(edge.from) + step; step !== 0 && at !== rank.get(edge.to); at += step) {
      const place = { w: 12, h: 12, x: 0, y: 0, near: [] };
      put(at, place);
      via.push(place);
    }
    const stops = [from, ...via, to];
    for (let at = 1; at < stops.length; at++) {
      stops[at].near.push(stops[at - 1]);
      stops[at - 1].near.push(stops[at]);
    }
    return { edge, stops };
  });
  for (let sweep = 0; sweep < 6; sweep++) {
    for (const layer of layers) layer.forEach((item, at) => Object.assign(item, { at: at - layer.length / 2 }));
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      for (const item of layer) item.wish = item.near.length ? item.near.reduce((sum, other) => sum + other.at, 0) / item.near.length : item.at;
      layer.sort((one, other) => one.wish - other.wish);
      layer.forEach((item, at) => Object.assign(item, { at: at - layer.length / 2 }));
    }
  }
  const across = direction === 'LR' || direction === 'RL';
  const [along, beside] = across ? ['w', 'h'] : ['h', 'w'];
  const gap = paths.some(({ edge }) => edge.label.length) ? 70 : 44;
  const breadth = layers.map((layer) => layer.reduce((sum, item) => sum + item[beside] + 26, -26));
  const most = Math.max(...breadth);
  let depth = 12;
  layers.forEach((layer, at) => {
    const thick = Math.max(...layer.map((item) => item[along]));
    let next = 12 + (most - breadth[at]) / 2;
    for (const item of layer) {
      const [main, side] = [depth + thick / 2, next + item[beside] / 2];
      [item.x, item.y] = across ? [main, side] : [side, main];
      next += item[beside] + 26;
    }
    depth += thick + gap;
  });
  const [width, height] = across ? [depth - gap + 12, most + 24] : [most + 24, depth - gap + 12];
  if (direction === 'RL') for (const item of layers.flat()) item.x = width - item.x;
  if (direction === 'BT') for (const item of layers.flat()) item.y = height - item.y;
  return { width, height, children: [...paths.flatMap(link), ...[...items.values()].flatMap(shape)] };
}

// Where the line from one middle to another leaves the box.
function border(item, toX, toY) {
  const [dx, dy] = [toX - item.x, toY - item.y];
  if (!item.lines || (dx === 0 && dy === 0)) return [item.x, item.y];
  const reach = item.shape === 'diamond' ? 1 / (Math.abs(dx) / (item.w / 2) + Math.abs(dy) / (item.h / 2)) : Math.min(item.w / 2 / Math.abs(dx || 1e-9), item.h / 2 / Math.abs(dy || 1e-9));
  return [item.x + dx * reach, item.y + dy * reach];
}

function link({ edge, stops }) {
  const { from, to, label, line, head, tail } = edge;
  if (from === to) {
    const { x, y, w, h } = stops[0];
    const [right, top] = [x + w / 2, y - h / 2];
    return [el('path', { class: `diagram-line diagram-${line}`, d: `M${round(right - 12)} ${round(top)}C${round(right - 12)} ${round(top - 30)} ${round(right + 30)} ${round(y)} ${round(right)} ${round(y)}` }),
      ...(head ? [arrow([right, y], [right + 20, y - 4])] : []), ...words(label, right + 20, top - 8, 'diagram-label')];
  }
  const points = stops.map((stop) => [stop.x, stop.y]);
  const last = points.length - 1;
  points[0] = border(stops[0], ...points[1]);
  points[last] = border(stops[last], ...points[last - 1]);
  const d = points.map(([x, y], at) => `${at ? 'L' : 'M'}${round(x)} ${round(y)}`).join('');
  const middle = last % 2 ? [(points[(last - 1) / 2][0] + points[(last + 1) / 2][0]) / 2, (points[(last - 1) / 2][1] + points[(last + 1) / 2][1]) / 2] : points[last / 2];
  const box = boxOf(label);
  return [el('path', { class: `diagram-line diagram-${line}`, d }),
    ...(head ? [arrow(points[last], points[last - 1])] : []), ...(tail ? [arrow(points[0], points[1])] : []),
    ...(label.length ? [el('rect', { class: 'diagram-plate', x: round(middle[0] - box.w / 2 + 8), y: round(middle[1] - box.h / 2 + 6), width: round(box.w - 16), height: round(box.h - 12) })] : []),
    ...words(label, middle[0], middle[1], 'diagram-label')];
}

function shape({ x, y, w, h, lines, shape: name }) {
  const [left, top, right, bottom] = [x - w / 2, y - h / 2, x + w / 2, y + h / 2].map(round);
  const points = { diamond: [[x, top], [right, y], [x, bottom], [left, y]], hex: [[left + 10, top], [right - 10, top], [right, y], [right - 10, bottom], [left + 10, bottom], [left, y]] }[name];
  const drawn = points ? el('polygon', { class: 'diagram-box', points: points.map((point) => point.map(round).join(',')).join(' ') })
    : name === 'circle' ? el('ellipse', { class: 'diagram-box', cx: round(x), cy: round(y), rx: round(w / 2), ry: round(h / 2) })
      : el('rect', { class: 'diagram-box', x: left, y: top, width: round(w), height: round(h), rx: { pill: round(h / 2), round: 10 }[name] ?? 3 });
  return [drawn, ...words(lines, x, y)];
}

// --- sequence diagrams ---

const MESSAGE = /^(.+?)\s*(<<-->>|<<->>|-->>|->>|-->|->|--x|-x|--\)|-\))\s*([+-]?)\s*([^:]+?)\s*:\s*(.*)$/;
const NOTE = /^note\s+(over|left of|right of)\s+([^:]+?)\s*:\s*(.*)$/i;
const FRAME = /^(loop|alt|opt|par|critical|break|rect|else|and|option)\b\s*(.*)$/;

function sequence(lines) {
  /** @type {Map<string, {lines: string[], x: number, w: number}>} */
  const people = new Map();
  const person = (id, label = id) => {
    if (!people.has(id)) people.set(id, { lines: linesOf(label), x: 0, w: 0 });
    return people.get(id);
  };
  const steps = [];
  let open = 0;
  let numbers = false;
  for (const line of lines) {
    const text = line.trim();
    if (text === '' || text.startsWith('%%') || /^(?:activate|deactivate|title|accTitle|accDescr)\b/.test(text)) continue;
    const named = /^(?:create\s+)?(?:participant|actor)\s+(.+?)(?:\s+as\s+(.+))?$/.exec(text);
    const message = MESSAGE.exec(text);
    const note = NOTE.exec(text);
    const frame = FRAME.exec(text);
    if (named) person(named[1], named[2]);
    else if (text === 'autonumber') numbers = true;
    else if (note) {
      const about = note[2].split(',').map((id) => id.trim());
      about.forEach((id) => person(id));
      steps.push({ kind: 'note', place: note[1].toLowerCase(), about, lines: linesOf(note[3]) });
    } else if (frame) {
      const divides = ['else', 'and', 'option'].includes(frame[1]);
      if (divides && open === 0) return null;
      if (!divides) open++;
      steps.push({ kind: divides ? 'divide' : 'open', lines: linesOf(`${frame[1]} ${frame[1] === 'rect' ? '' : frame[2]}`) });
    } else if (text === 'end') {
      if (open-- === 0) return null;
      steps.push({ kind: 'close' });
    } else if (message) {
      const [, from, mark, , to, said] = message;
      person(from);
      person(to);
      steps.push({ kind: 'message', from, to, mark, lines: linesOf(said) });
    } else return null;
    if (steps.length > MOST_STEPS || people.size > 20) return null;
  }
  if (people.size === 0 || open !== 0) return null;
  return drawSequence([...people], steps, numbers);
}

function drawSequence(people, steps, numbers) {
  const place = new Map(people.map(([id], at) => [id, at]));
  const gaps = people.map(() => 60);
  for (const step of steps) {
    const between = step.kind === 'message' ? [place.get(step.from), place.get(step.to)].sort((one, other) => one - other) : null;
    if (!between || between[1] - between[0] > 1) continue;
    gaps[between[0]] = Math.max(gaps[between[0]], boxOf(step.lines).w + (numbers ? 30 : 10));
  }
  let x = 20;
  people.forEach(([, known], at) => {
    known.w = boxOf(known.lines).w;
    x += known.w / 2;
    known.x = x;
    x += Math.max(known.w / 2 + 30, gaps[at] - (people[at + 1] ? boxOf(people[at + 1][1].lines).w / 2 : 0));
  });
  const headed = Math.max(...people.map(([, { lines }]) => boxOf(lines).h));
  const at = (id) => people[place.get(id)][1].x;
  const drawn = [];
  const frames = [];
  let [y, count, right] = [headed + 24, 0, x];
  for (const step of steps) {
    const high = (step.lines?.length ?? 0) * LINE;
    if (step.kind === 'open') {
      frames.push({ top: y, lines: step.lines, divides: [] });
      y += high + 14;
    } else if (step.kind === 'divide') {
      frames[frames.length - 1].divides.push(y);
      drawn.push(...words(step.lines, 26 + frames.length * 6, y + 12, 'diagram-label', 'start'));
      y += high + 14;
    } else if (step.kind === 'close') {
      const { top, lines, divides } = frames.pop();
      const inset = 4 + frames.length * 6;
      drawn.unshift(el('rect', { class: 'diagram-frame', x: inset, y: round(top), width: round(x - 2 * inset), height: round(y - top), rx: 4 }),
        ...divides.map((line) => el('path', { class: 'diagram-line diagram-dotted', d: `M${inset} ${round(line)}H${round(x - inset)}` })));
      drawn.push(...words(lines, inset + 10, top + 12, 'diagram-label', 'start'));
      y += 12;
    } else if (step.kind === 'note') {
      const xs = step.about.map(at);
      const box = boxOf(step.lines);
      const middle = step.place === 'over' ? (Math.min(...xs) + Math.max(...xs)) / 2 : step.place === 'left of' ? Math.max(box.w / 2 + 4, xs[0] - box.w / 2 - 8) : xs[0] + box.w / 2 + 8;
      const wide = Math.max(box.w, step.place === 'over' ? Math.max(...xs) - Math.min(...xs) + 30 : 0);
      drawn.push(el('rect', { class: 'diagram-note', x: round(middle - wide / 2), y: round(y), width: round(wide), height: box.h, rx: 3 }), ...words(step.lines, middle, y + box.h / 2));
      right = Math.max(right, middle + wide / 2 + 8);
      y += box.h + 12;
    } else {
      const [from, to] = [at(step.from), at(step.to)];
      const lines = numbers ? [`${++count}. ${step.lines[0]}`, ...step.lines.slice(1)] : step.lines;
      const dotted = step.mark.includes('--') ? 'dotted' : 'solid';
      const self = from === to;
      y += high + 4;
      drawn.push(...words(lines, self ? from + 12 : (from + to) / 2, y - high / 2 - 4, 'diagram-label', self ? 'start' : 'middle'));
      drawn.push(el('path', { class: `diagram-line diagram-${dotted}`, d: self ? `M${round(from)} ${round(y)}h34v20H${round(from + 2)}` : `M${round(from)} ${round(y)}H${round(to)}` }));
      if (step.mark.endsWith('x')) drawn.push(el('path', { class: 'diagram-line diagram-solid', d: `M${round(to - 5)} ${round(y - 5)}l10 10m0 -10l-10 10` }));
      else if (!/^--?>$/.test(step.mark)) drawn.push(self ? arrow([from + 1, y + 20], [from + 20, y + 20]) : arrow([to, y], [from, y]));
      if (step.mark.startsWith('<<')) drawn.push(arrow([from, y], [to, y]));
      if (self) right = Math.max(right, from + 40 + Math.max(...lines.map(widthOf)));
      y += self ? 34 : 16;
    }
  }
  const lifelines = people.map(([, known]) => el('path', { class: 'diagram-life', d: `M${round(known.x)} ${headed + 8}V${round(y)}` }));
  const heads = people.flatMap(([, { x: middle, w, lines }]) => [el('rect', { class: 'diagram-box', x: round(middle - w / 2), y: 8, width: round(w), height: headed, rx: 4 }), ...words(lines, middle, 8 + headed / 2)]);
  return { width: right, height: y + 8, children: [...lifelines, ...drawn, ...heads] };
}

/**
 * A diagram as `{width, height, children}`, or null where it is not understood.
 * @param {string} source
 */
export function draw(source) {
  if (source.length > MOST_CHARS) return null;
  const lines = source.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('%%'));
  const first = (lines.shift() ?? '').trim();
  const flow = /^(?:graph|flowchart)(?:\s+(TB|TD|BT|LR|RL))?\s*;?$/.exec(first);
  if (flow) return flowchart(flow[1] ?? 'TB', lines);
  return first === 'sequenceDiagram' ? sequence(lines) : null;
}
