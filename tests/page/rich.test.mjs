// Headings, footnotes, formulas, colours; the palette's search; saved conversations; what can be undone.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toMarkdown } from '../../src/adapters/web/page/export.js';
import { highlight } from '../../src/adapters/web/page/highlight.js';
import { parseMath } from '../../src/adapters/web/page/math.js';
import { draw } from '../../src/adapters/web/page/mermaid.js';
import { definitionsIn, parseBlocks } from '../../src/adapters/web/page/md-blocks.js';
import { parseInline } from '../../src/adapters/web/page/md-inline.js';
import { undoable } from '../../src/adapters/web/page/memory.js';
import { fits } from '../../src/adapters/web/page/palette.js';

const blocks = (text) => parseBlocks(text.split('\n')).map(({ start: _, end: __, ...block }) => block);

test('a line of = or - below a paragraph makes a heading of it', () => {
  assert.deepEqual(blocks('One\n===\n\nTwo\nlines\n---\ntext'), [
    { t: 'heading', level: 1, text: 'One' },
    { t: 'heading', level: 2, text: 'Two\nlines' },
    { t: 'para', text: 'text' },
  ]);
  assert.deepEqual(blocks('text\n\n---').map((block) => block.t), ['para', 'rule'], 'below nothing it is a rule');
  assert.deepEqual(blocks('text\n-').map((block) => block.t), ['para'], 'the beginning of a list that still arrives');
  assert.deepEqual(blocks('- item\n---').map((block) => block.t), ['list', 'rule']);
});

test('footnotes have a place and a mark', () => {
  const [text, note] = blocks('See[^a].\n\n[^a]: The note\n    goes on.');
  assert.deepEqual([note.t, note.id, note.blocks[0].text], ['note', 'a', 'The note\ngoes on.']);
  assert.deepEqual(parseInline(text.text), [{ t: 'text', s: 'See' }, { t: 'ref', id: 'a' }, { t: 'text', s: '.' }]);
});

test('formulas are read between their marks, and prices are none', () => {
  assert.deepEqual(parseInline('$x^2$ for $5 and $6').map((node) => node.t), ['math', 'text']);
  assert.deepEqual(parseInline('\\(a\\) and \\$').map((node) => node.t), ['math', 'text']);
  assert.deepEqual(blocks('$$\na + b\n$$'), [{ t: 'math', text: 'a + b' }]);
  assert.equal(blocks('$$\nnever closed')[0].t, 'para');
});

test('what is understood of LaTeX is a tree, and the rest is left as it is', () => {
  const tags = (tree) => [tree.tag, ...(tree.children ?? []).flatMap(tags)];
  assert.deepEqual(tags(parseMath('\\frac{a}{b_1}')), ['mrow', 'mfrac', 'mi', 'msub', 'mi', 'mn']);
  assert.deepEqual(tags(parseMath('\\sum_{i}^{n} x')), ['mrow', 'munderover', 'mo', 'mi', 'mi', 'mi']);
  assert.ok(tags(parseMath('\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}')).includes('mtable'));
  for (const text of ['\\href{javascript:alert(1)}{x}', '\\unknown', '{'.repeat(100), 'x'.repeat(5_000)]) assert.equal(parseMath(text), null, text.slice(0, 20));
});

test('code keeps its text when it is coloured', () => {
  const code = '// why\nfn main() { let x = 42; "text" }';
  const pieces = highlight('rust', code);
  assert.equal(pieces.map(([, text]) => text).join(''), code);
  assert.deepEqual(pieces.filter(([kind]) => kind).map(([kind, text]) => `${kind} ${text}`), ['comment // why', 'keyword fn', 'keyword let', 'number 42', 'string "text"']);
  assert.equal(highlight('none', code), null);
  const started = performance.now();
  highlight('js', '"'.repeat(50_000));
  highlight('python', '\'\'\''.repeat(15_000));
  assert.ok(performance.now() - started < 1_000, 'also where nothing is closed');
});

test('a comment and a string keep their colour over several lines', () => {
  for (const [lang, code, kind] of [['js', '/* one\n   two */', 'comment'], ['python', '"""one\ntwo"""', 'string'], ['html', '<!-- one\ntwo -->', 'comment'], ['sql', '/* one\ntwo */', 'comment']]) {
    assert.deepEqual(highlight(lang, `${code}\n`).filter(([known]) => known), [[kind, code]], lang);
  }
  assert.deepEqual(highlight('sh', 'ls # one\n# two').filter(([kind]) => kind === 'comment'), [['comment', '# one'], ['comment', '# two']]);
});

test('variables of a shell are no formula', () => {
  for (const text of ['echo $HOME/bin:$PATH', 'cp $A $B', 'set $a-$b', '$A/$B/$C']) assert.deepEqual(parseInline(text), [{ t: 'text', s: text }]);
  assert.deepEqual(parseInline('($x$, $y$).').map((node) => node.t), ['text', 'math', 'text', 'math', 'text']);
});

// Counts the lines that are read, so that nothing depends on the speed of a machine.
function readsOf(lines) {
  let reads = 0;
  const counting = new Proxy(lines, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads++;
      return Reflect.get(target, key);
    },
  });
  parseBlocks(counting);
  return reads;
}

test('a text full of open marks costs as much per line as a short one', () => {
  const patterns = ['\\[ a', '$$ a', '> a', '- a', '```', '[^a]: b', '| a |', 'a', '# a', '    a', '1. a', '===', '\\[ a\n\\] x', '$$ a\n$$ x'];
  for (const pattern of patterns) {
    const lines = (count) => Array.from({ length: count }, () => pattern).join('\n').split('\n');
    const [few, many] = [200, 4_000].map((count) => readsOf(lines(count)) / count);
    assert.ok(many < 2 * few + 20, `${JSON.stringify(pattern)}: ${few} and ${many} reads a line`);
  }
  // Quadratic work would take minutes here.
  for (const pattern of ['\\(a', '$a', '[a](b "', '`a', '*a', '<a', '&a', 'http://a)']) parseInline(pattern.repeat(40_000));
});

test('the palette finds words by their letters', () => {
  assert.ok(fits('mem', 'Memory') >= 0);
  assert.ok(fits('nc', 'New chat') >= 0);
  assert.equal(fits('xyz', 'Memory'), -1);
  assert.ok(fits('chat', 'New chat') < fits('nhat', 'New chat'));
});

test('the newest change that was not taken back can be undone', () => {
  assert.equal(undoable([{ seq: 3, undoes: 2 }, { seq: 2 }, { seq: 1 }]).seq, 1);
  assert.equal(undoable([{ seq: 1, undoes: 0 }]), null);
  const note = { seq: 4, op: 'add', tier: 'notes', after: 'x' };
  const edit = { seq: 3, op: 'edit', tier: 'core' };
  const again = { seq: 2, op: 'replace', tier: 'notes', by: 'web:user:7', before: 'tea', after: 'tea' };
  assert.equal(undoable([note, edit, again, { seq: 1, op: 'add', tier: 'core' }]).seq, 1);
  assert.equal(undoable([{ ...note, by: 'web:user:7' }]).seq, 4);
});

test('a saved conversation has who said what, with calls and files', () => {
  const text = toMarkdown({ threadId: 'web:chat:1', title: 'Plan' }, [
    { id: 'u', role: 'user', metadata: { authorName: 'Ada', timestamp: 0 }, parts: [{ type: 'text', text: 'hello' }, { type: 'file', filename: 'a.png', url: '/api/files/x/a.png' }] },
    { id: 'a', role: 'assistant', metadata: {}, parts: [{ type: 'tool-exec_shell', state: 'output-available', input: { command: 'ls' }, output: 'files' }, { type: 'text', text: 'done' }] },
  ]);
  const hostile = { id: 'b', role: 'assistant', metadata: {}, parts: [{ type: 'tool-read_file', state: 'output-available', input: {}, output: 'a\n```\n# not a heading\n````' }] };
  assert.ok(toMarkdown({ threadId: 'x' }, [hostile]).includes('`````\na\n```\n# not a heading\n````\n`````'), 'a fence that its content cannot end');
  for (const part of ['# Plan\n', '## Ada\n', '[a.png](/api/files/x/a.png)', '**exec_shell**', '"command": "ls"', 'done']) assert.ok(text.includes(part), part);
});

test('links name definitions that stand anywhere, and nothing else becomes one', () => {
  const links = definitionsIn(['text', '[One  Thing]: https://a.example/x "A title"', '[b]: <https://b.example/y z>', '[b]: https://second.example', '[^n]: a note', '[c]: javascript:alert(1)']);
  assert.deepEqual([...links.keys()], ['one thing', 'b', 'c']);
  const link = (text) => parseInline(text, false, links).find((node) => node.t === 'link');
  for (const text of ['[see][one thing]', '[One Thing][]', '[one thing]', 'a [*one* thing][ONE  THING] b']) assert.equal(link(text)?.href, 'https://a.example/x', text);
  assert.equal(link('[one thing]').title, 'A title');
  assert.equal(link('[b]').href, 'https://b.example/y z', 'the first definition counts');
  for (const text of ['[none]', '[see][none]', '[ ]', '[]']) assert.equal(link(text), undefined, text);
  assert.deepEqual(parseInline('![pic][b]', false, links).map((node) => node.t), ['image']);
  assert.deepEqual(blocks('[a]: https://a.example\n\ntext').map((block) => block.t), ['def', 'para']);
  assert.deepEqual(blocks('text\n[a]: https://a.example').map((block) => block.t), ['para'], 'not in the middle of a paragraph');
});

test('a list with a blank line inside an item is loose, and one with a nested list is not', () => {
  assert.equal(blocks('- a\n\n  more\n- b')[0].loose, true);
  assert.equal(blocks('- a\n\n- b')[0].loose, true);
  assert.equal(blocks('- a\n  - b\n  - c\n- d')[0].loose, false);
  assert.equal(blocks('- a\n  ```\n  x\n\n  y\n  ```\n- b')[0].loose, false, 'a blank line of code');
});

test('named characters are read by their names', () => {
  const text = (source) => parseInline(source).map((node) => node.s).join('');
  assert.equal(text('&eacute;&Eacute;&rarr;&alpha;&Omega;&euro;&frac12;&laquo;&raquo;&hearts;&AMP;&nbsp;&thinsp;|'), 'éÉ→αΩ€½«»♥&\u00a0\u2009|');
  assert.equal(text('&lt;b&gt; &apos;&quot;&#39;'), '<b> \'"\'');
  assert.equal(text('&nothing; &copy &amp'), '&nothing; &copy &amp', 'what is none stays');
});

const kinds = (drawn) => drawn.children.map(({ tag }) => tag);
const labels = (drawn) => drawn.children.filter(({ tag }) => tag === 'text').map(({ text }) => text);

test('a flowchart is drawn with its nodes, links and labels', () => {
  const drawn = draw('flowchart TD\n  A[Start] --> B{Good?}\n  B -->|yes| C([Ship it])\n  B -- no --> D["Fix (again)"] --> A\n  A -.-> C & D\n  C ==> E((Done))\n  classDef x fill:#fff\n%% why');
  assert.deepEqual(labels(drawn).sort(), ['Done', 'Fix (again)', 'Good?', 'Ship it', 'Start', 'no', 'yes']);
  assert.equal(kinds(drawn).filter((tag) => tag === 'path').length, 7);
  assert.ok(drawn.children.some(({ attrs }) => attrs.class === 'diagram-line diagram-dotted') && drawn.children.some(({ attrs }) => attrs.class === 'diagram-line diagram-thick'));
  for (const { attrs } of drawn.children) for (const value of Object.values(attrs)) assert.ok(!String(value).includes('NaN'), JSON.stringify(attrs));
  const [down, right] = ['TD', 'LR'].map((direction) => draw(`graph ${direction}\nA-->B-->C-->D`));
  assert.ok(down.height > down.width && right.width > right.height);
});

test('a sequence diagram is drawn with its people, messages, notes and frames', () => {
  const drawn = draw('sequenceDiagram\n  autonumber\n  participant A as Alice\n  actor B\n  A->>B: Hello\n  B-->>A: hi\n  loop each minute\n    A->>+A: think\n    alt yes\n      A-)B: go\n    else no\n      A-xB: stop\n    end\n  end\n  Note over A,B: both\n  Note right of B: end');
  for (const label of ['Alice', 'B', '1. Hello', '2. hi', 'loop each minute', 'alt yes', 'else no', '3. think', 'both', 'end']) assert.ok(labels(drawn).includes(label), label);
  for (const { attrs } of drawn.children) for (const value of Object.values(attrs)) assert.ok(!String(value).includes('NaN'), JSON.stringify(attrs));
});

test('a diagram that is not understood, or is too large, is not drawn', () => {
  const large = `graph TD\n${Array.from({ length: 400 }, (_, at) => `N${at} --> N${at + 1}`).join('\n')}`;
  for (const source of ['', 'pie\n"a": 1', 'graph TD\nsubgraph x\nA-->B\nend', 'graph TD\nA[open', 'graph XX\nA-->B', 'sequenceDiagram\nnonsense', 'sequenceDiagram\nloop x\nA->>B: y', large, 'graph TD\nA-->B\n'.padEnd(30_000, ' ')]) {
    assert.equal(draw(source), null, source.slice(0, 40));
  }
  const labelled = draw('graph TD\nA["<img src=x onerror=alert(1)>"]-->B');
  assert.ok(labels(labelled).some((text) => text.includes('<img')), 'markup stays text');
});
