// The keys of the page, the words of problems, and what the onboarding still needs.

import assert from 'node:assert/strict';
import test from 'node:test';

import { spoken } from '../../src/adapters/web/page/problems.js';
import { setup } from '../../src/adapters/web/page/setup-state.js';
import { actionOf } from '../../src/adapters/web/page/shortcuts.js';
import { chooseLanguage } from '../../src/adapters/web/page/strings.js';

const press = (event) => ({ key: '', code: '', altKey: false, ctrlKey: false, metaKey: false, shiftKey: false, repeat: false, isComposing: false, ...event });
const alt = (code, more = {}) => press({ code, altKey: true, ...more });
const other = { mac: false, typing: true };

test('a key that is held down is one press', () => {
  assert.equal(actionOf(alt('KeyY'), other), 'approve');
  assert.equal(actionOf(alt('KeyY', { repeat: true }), other), null);
  assert.equal(actionOf(press({ key: 'Escape', repeat: true }), other), null);
});

test('option writes letters on a Mac where text is typed, and is a shortcut elsewhere', () => {
  for (const code of ['KeyN', 'KeyS', 'KeyD', 'KeyY', 'Slash']) {
    assert.equal(actionOf(alt(code), { mac: true, typing: true }), null, code);
    assert.notEqual(actionOf(alt(code), { mac: true, typing: false }), null, code);
    assert.notEqual(actionOf(alt(code), { mac: false, typing: true }), null, code);
  }
  assert.equal(actionOf(alt('KeyY', { ctrlKey: true }), other), null, 'AltGr');
  assert.equal(actionOf(press({ key: 'k', metaKey: true }), { mac: true, typing: true }), 'palette');
  assert.equal(actionOf(press({ key: 'k', ctrlKey: true }), other), 'palette');
});

test('escape closes nothing while an input method composes', () => {
  assert.equal(actionOf(press({ key: 'Escape' }), other), 'escape');
  assert.equal(actionOf(press({ key: 'Escape', isComposing: true }), other), null);
});

test('a problem is told in the language of the reader, with what to do', () => {
  chooseLanguage('en');
  assert.equal(spoken({ message: 'there is no state `x`', code: 'bad-request', hint: 'known: idle' }), 'there is no state `x` — known: idle');
  assert.equal(spoken({ message: 'fill in TOKEN', code: 'invalid_answer', hint: 'platform' }), 'fill in TOKEN', 'the name of a field is for programs');
  chooseLanguage('zh');
  assert.equal(spoken({ message: 'the thread is at work: stop it first', code: 'thread-at-work' }), '会话正在运行，请先停止');
  assert.equal(spoken({ message: 'limit must be a number', code: 'bad-request' }), '请求无效（limit must be a number）');
  assert.equal(spoken({ message: '排队已满', code: 'too-many-requests' }), '排队已满', 'the daemon said it in Chinese');
  assert.equal(spoken({ message: 'something new', code: 'not-known-here' }), 'something new');
  chooseLanguage('en');
});

test('a key that a reload took from the page is asked for again', () => {
  setup.change({ provider: 'openai', platform: 'telegram' });
  assert.equal(setup.lost, null, 'nothing was given');
  setup.keepSecret('key', 'sk-1');
  setup.keepSecret('telegram.token', '1:a');
  assert.equal(setup.lost, null);
  // After a reload only the answers are left.
  const { given } = setup.answers;
  setup.keepSecret('key', '');
  setup.change({ given });
  assert.equal(setup.lost, 'key');
  setup.keepSecret('key', 'sk-1');
  setup.keepSecret('telegram.token', '');
  setup.change({ given });
  assert.equal(setup.lost, 'platform');
  setup.change({ platform: '' });
  assert.equal(setup.lost, null);
  setup.end();
});
