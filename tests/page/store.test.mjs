// The messages of a thread, from sources that overlap: no message is ever shown twice.

import assert from 'node:assert/strict';
import test from 'node:test';

import { api } from '../../src/adapters/web/page/api.js';
import { MessageStore } from '../../src/adapters/web/page/store.js';
import { ThreadList } from '../../src/adapters/web/page/thread-list.js';
import { Thread } from '../../src/adapters/web/page/thread.js';

const said = (id, text, status) => ({ id, role: id.startsWith('a') ? 'assistant' : 'user', metadata: { status }, parts: [{ type: 'text', text }] });
const shown = (store) => store.entries.map((entry) => [entry.id, entry.message.parts.map((part) => part.text).join('')]);

test('live chunks and the committed message are one entry', () => {
  const store = new MessageStore(() => {});
  store.upsert(said('u1', 'hi'));
  store.chunk('a1', { type: 'start' });
  store.chunk('a1', { type: 'text-delta', id: 't', delta: 'Hel' });
  store.upsert(said('a1', 'Hello', 'done'));
  store.chunk('a1', { type: 'text-delta', id: 't', delta: 'too late' });
  assert.deepEqual(shown(store), [['u1', 'hi'], ['a1', 'Hello']]);
});

test('an older snapshot of a running turn does not take back what was streamed', () => {
  const store = new MessageStore(() => {});
  store.chunk('a1', { type: 'start' });
  store.chunk('a1', { type: 'text-delta', id: 't', delta: 'a long answer' });
  store.upsert(said('a1', 'a', 'running'));
  assert.deepEqual(shown(store), [['a1', 'a long answer']]);
});

test('a message is shown once, from before it is sent until it is committed', () => {
  const store = new MessageStore(() => {});
  store.addLocal('m1', 'hello');
  assert.equal(store.get('m1').local.state, 'sending');
  store.upsert(said('m1', 'hello'));
  store.confirmLocal('m1', 'm1');
  assert.deepEqual(shown(store), [['m1', 'hello']]);
  assert.equal(store.get('m1').local, null);
});

test('a failed message can be marked and sent again', () => {
  const store = new MessageStore(() => {});
  store.addLocal('m1', 'hello');
  store.markLocal('m1', 'failed', { status: 0, text: '' });
  assert.equal(store.get('m1').local.state, 'failed');
  store.markLocal('m1', 'sending');
  assert.deepEqual(shown(store), [['m1', 'hello']]);
});

test('pages are put together without a gap or a double', () => {
  const store = new MessageStore(() => {});
  const page = (...ids) => ids.map((id) => said(id, id));
  store.mergeNewest(page('u3', 'u4'), { since: store.clock, running: false, reset: false });
  assert.equal(store.prepend(page('u1', 'u2', 'u3')), 2);
  store.mergeNewest(page('u4', 'u5'), { since: store.clock, running: false, reset: false });
  assert.deepEqual(store.entries.map((entry) => entry.id), ['u1', 'u2', 'u3', 'u4', 'u5']);
  const { connected } = store.mergeNewest(page('u9'), { since: store.clock, running: false, reset: false });
  assert.equal(connected, false);
  assert.deepEqual(store.entries.map((entry) => entry.id), ['u9'], 'what lies in between is not known');
});

const row = (n, more = {}) => ({ threadId: `web:chat:${n}`, state: 'idle', title: '', updatedAt: new Date(n * 1000).toISOString(), messageCount: 1, pendingApprovals: 0, ...more });
const ids = (list) => list.rows.map((known) => Number(known.threadId.split(':')[2]));

test('the thread list goes on where it ended and follows changes', async () => {
  const asked = [];
  const list = new ThreadList(async (before) => {
    asked.push(before);
    return { threads: [row(3), row(2)], nextBefore: 'c2' };
  }, () => {});
  list.snapshot([row(5), row(4), row(3)], 'c1');
  await Promise.all([list.more(), list.more()]);
  assert.deepEqual(asked, ['c1'], 'one page at a time');
  assert.deepEqual(ids(list), [5, 4, 3, 2]);
  assert.equal(list.next, 'c2');
  list.upsert(row(2, { updatedAt: new Date(9000).toISOString() }));
  assert.deepEqual(ids(list), [2, 5, 4, 3]);
  list.snapshot([row(6), row(5), row(4)], 'c9');
  assert.deepEqual(ids(list), [6, 5, 4, 3], 'earlier pages stay, what is gone goes');
  assert.equal(list.next, 'c2');
});

test('a page that cannot be loaded can be asked for again', async () => {
  let works = false;
  const list = new ThreadList(async () => {
    if (!works) throw new Error('lost');
    return { threads: [row(1)], nextBefore: null };
  }, () => {});
  list.snapshot([row(2)], 'c1');
  await list.more();
  assert.deepEqual([list.failed, list.loading, list.next], [true, false, 'c1']);
  works = true;
  await list.more();
  assert.deepEqual([list.failed, list.next, ids(list)], [false, null, [2, 1]]);
});

test('a question waits until its part has an answer', () => {
  const store = new MessageStore(() => {});
  const part = { type: 'tool-exec_shell', toolCallId: 'c1', state: 'approval-requested', input: {}, approval: { id: 'apr_1' } };
  const message = (parts) => ({ id: 'm1', role: 'assistant', metadata: { status: 'running' }, parts });
  store.upsert(message([part]));
  assert.equal(store.waits('apr_1'), true);
  assert.equal(store.waits('apr_2'), false);
  store.upsert(message([{ ...part, state: 'approval-responded', approval: { id: 'apr_1', approved: true } }]));
  assert.equal(store.waits('apr_1'), false);
});

test('an edit stops a run only where nothing else is queued', async () => {
  const told = (state, waiting) => ({ state, waiting, queued: waiting.length, pendingApprovals: 0 });
  // `afterStop` are the states that the daemon tells after the stop.
  const edit = async (waiting, afterStop) => {
    const calls = [];
    const nothing = () => {};
    const store = new MessageStore(nothing);
    const thread = Object.assign(Object.create(Thread.prototype), { id: 'web:chat:1', store, waiting: new Set(), notify: nothing, stateChanged: nothing });
    store.upsert(said('u1', 'one'));
    store.chunk('a1', { type: 'start' });
    for (const id of waiting) store.upsert(said(id, 'two'));
    thread.onState(told('running', waiting));
    Object.assign(api, {
      stop: async () => {
        calls.push('stop');
        store.upsert(said('a1', 'half', 'stopped'));
        for (const state of afterStop) {
          for (const id of state.waiting) store.upsert(said(id, 'two'));
          thread.onState(state);
        }
      },
      branch: async () => (calls.push('branch'), 'web:chat:2'),
      editMessage: async () => calls.push('edit'),
    });
    const place = thread.editPlaceOf('u1');
    const { branch } = await thread.resend('u1', 'other words');
    return [place, ...calls, branch];
  };
  assert.deepEqual(await edit([], [told('idle', [])]), ['answering', 'stop', 'edit', null]);
  assert.deepEqual(await edit(['u2'], []), ['earlier', 'branch', 'web:chat:2'], 'the run goes on');
  assert.deepEqual(await edit([], [told('running', ['u2'])]), ['answering', 'stop', 'branch', 'web:chat:2'], 'queued during the stop');
  assert.deepEqual(await edit([], [told('idle', ['u2'])]), ['answering', 'stop', 'branch', 'web:chat:2'], 'queued, and not begun yet');
  assert.deepEqual(await edit([], [told('running', ['u2']), told('running', [])]), ['answering', 'stop', 'branch', 'web:chat:2'], 'begun during the stop');
});
