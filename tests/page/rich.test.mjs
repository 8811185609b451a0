// Headings, footnotes, formulas, colours; the palette's search; saved conversations; what can be undone.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toMarkdown } from '../../src/adapters/web/page/export.js';
import { highlight } from '../../src/adapters/web/page/highlight.js';
import { parseMath } from '../../src/adapters/web/page/math.js';
import { parseBlocks } from '../../src/adapters/web/page/md-blocks.js';
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
  for (const part of ['# Plan\n', '## Ada\n', '[a.png](/api/files/x/a.png)', '**exec_shell**', '"command": "ls"', 'done']) assert.ok(text.includes(part), part);
});
