// Server-sent events, read from text that arrives in pieces.

import assert from 'node:assert/strict';
import test from 'node:test';

import { EventParser } from '../../src/adapters/web/page/sse.js';

const TEXT = ': keep-alive\n\nevent: state\ndata: {"a": 1}\n\ndata: one\r\ndata: two\r\n\r\n'
  + 'event: nothing\n\nid: 7\nretry: 9\ndata:tight\ndata\n\revent: 消息\rdata: : 你好\r\revent: cut\ndata: off';

test('events are read from pieces of any size', () => {
  for (const size of [1, 2, 3, 7, 1000]) {
    const read = [];
    const parser = new EventParser((name, data) => read.push([name, data]));
    for (let at = 0; at < TEXT.length; at += size) parser.push(TEXT.slice(at, at + size));
    assert.deepEqual(read, [['state', '{"a": 1}'], ['message', 'one\ntwo'], ['message', 'tight\n'], ['消息', ': 你好']], `pieces of ${size}`);
  }
});
