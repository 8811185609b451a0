// The fold of stream chunks into a message.

import assert from 'node:assert/strict';
import test from 'node:test';

import { applyChunk, emptyMessage, isToolPart, toolName } from '../../src/adapters/web/page/reducer.js';

const fold = (...chunks) => chunks.reduce(applyChunk, emptyMessage('a1'));

test('text arrives in pieces and ends done', () => {
  const message = fold(
    { type: 'start' }, { type: 'start-step' },
    { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'Hel' }, { type: 'text-delta', id: 't', delta: 'lo' },
    { type: 'text-end', id: 't' }, { type: 'finish' },
  );
  assert.deepEqual(message.parts, [{ type: 'step-start' }, { type: 'text', id: 't', text: 'Hello', state: 'done' }]);
  assert.equal(message.metadata.status, 'done');
});

test('a start begins the message anew', () => {
  const message = fold({ type: 'start' }, { type: 'text-delta', id: 't', delta: 'old' }, { type: 'start' });
  assert.deepEqual(message.parts, []);
  assert.equal(message.metadata.status, 'running');
});

test('an id that is used again belongs to the open part', () => {
  const step = (text) => [{ type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: text }, { type: 'text-end', id: '0' }];
  const message = fold(...step('one'), ...step('two'));
  assert.deepEqual(message.parts.map((part) => part.text), ['one', 'two']);
});

test('a tool call keeps its input through question, answer and result', () => {
  const call = { toolCallId: 'c1' };
  const asked = fold(
    { type: 'tool-input-start', ...call, toolName: 'exec_shell' },
    { type: 'tool-input-delta', ...call, inputTextDelta: '{"command"' },
    { type: 'tool-input-available', ...call, input: { command: 'ls' } },
    { type: 'tool-approval-request', ...call, approvalId: 'p1', approvalDescriptor: { number: 'A1' } },
  );
  const [part] = asked.parts;
  assert.ok(isToolPart(part));
  assert.equal(toolName(part), 'exec_shell');
  assert.equal(part.state, 'approval-requested');
  assert.deepEqual(part.approval, { id: 'p1', descriptor: { number: 'A1' } });
  const [done] = applyChunk(asked, { type: 'tool-output-available', ...call, output: 'a' }).parts;
  assert.deepEqual([done.state, done.input, done.output], ['output-available', { command: 'ls' }, 'a']);
});

test('an untouched part stays the same object', () => {
  const before = fold({ type: 'text-delta', id: '1', delta: 'a' }, { type: 'text-end', id: '1' });
  const after = applyChunk(before, { type: 'text-delta', id: '2', delta: 'b' });
  assert.equal(after.parts[0], before.parts[0]);
  assert.equal(before.parts.length, 1);
});

test('an error ends the message, an unknown chunk changes nothing', () => {
  const failed = fold({ type: 'start' }, { type: 'error', errorText: 'broken' });
  assert.equal(failed.metadata.status, 'failed');
  assert.equal(failed.parts.at(-1).data.text, 'broken');
  assert.equal(applyChunk(failed, { type: 'from-the-future' }), failed);
});
