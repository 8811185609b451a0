// The words of the page with names filled in.

import assert from 'node:assert/strict';
import test from 'node:test';

import { chooseLanguage, t } from '../../src/adapters/web/page/strings.js';

test('a name keeps its own spaces and has none beside Chinese characters', () => {
  chooseLanguage('zh');
  assert.equal(t('modelChosen', { name: '深度 模型' }), '从现在起由深度 模型回答。');
  assert.equal(t('modelChosen', { name: 'deep' }), '从现在起由 deep 回答。');
  chooseLanguage('en');
  assert.match(t('modelChosen', { name: '深度 模型' }), / 深度 模型/);
});
