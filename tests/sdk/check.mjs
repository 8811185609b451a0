// The AI SDK as the judge of the daemon: its own validator, its own conversion
// to what models read, and its own chat client under remote control.
//
//   node check.mjs threads FILE…    judges thread files; prints one JSON document
//   node check.mjs client BASE      a chat client: orders on stdin, what it shows on stdout,
//                                   both a JSON document per line; the token comes in TOKEN

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  AbstractChat, convertToModelMessages, DefaultChatTransport, generateText, lastAssistantMessageIsCompleteWithApprovalResponses,
  safeValidateUIMessages,
} from 'ai';

const tell = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

// --- thread files ---

/** The messages of a file: the place of an id's first line, the content of its last. */
function fold(text) {
  const messages = new Map();
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  for (const line of whole.split('\n').filter(Boolean)) {
    const message = JSON.parse(line);
    messages.set(message.id, message);
  }
  return [...messages.values()];
}

/** What a server would be asked with these messages. Throws where a call has no result. */
async function request(messages) {
  let body;
  const provider = createOpenAICompatible({
    name: 'nobody',
    baseURL: 'http://127.0.0.1:9/v1',
    async fetch(_url, { body: sent }) {
      body = JSON.parse(sent);
      const answer = { choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }] };
      return new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } });
    },
  });
  await generateText({ model: provider('nothing'), messages: await convertToModelMessages(messages), maxRetries: 0 });
  return body.messages;
}

async function judge(file) {
  const messages = fold(readFileSync(file, 'utf8'));
  const checked = await safeValidateUIMessages({ messages });
  if (!checked.success) return { file, fault: String(checked.error.message) };
  try {
    return { file, messages: checked.data, request: await request(checked.data) };
  } catch (error) {
    return { file, fault: `${error.name}: ${error.message}` };
  }
}

// --- the client ---

class Chat extends AbstractChat {
  constructor({ shown, messages = [], ...init }) {
    const state = {
      status: 'ready',
      error: undefined,
      messages,
      pushMessage: (message) => { state.messages = [...state.messages, message]; },
      popMessage: () => { state.messages = state.messages.slice(0, -1); },
      replaceMessage: (index, message) => { state.messages = state.messages.with(index, message); },
      // As a page would: what is shown must not change under it.
      snapshot: (value) => structuredClone(value),
    };
    const watched = new Proxy(state, {
      set(target, key, value) {
        target[key] = value;
        shown();
        return true;
      },
      get(target, key) {
        const value = target[key];
        if (typeof value !== 'function' || key === 'snapshot') return value;
        return (...args) => {
          value(...args);
          shown();
        };
      },
    });
    super({ ...init, state: watched });
  }
}

class Client {
  constructor(base, token) {
    this.base = base;
    this.headers = { authorization: `Bearer ${token}` };
    this.chat = null;
  }

  show(extra) {
    const { status, error, messages } = this.chat;
    tell({ status, error: error?.message ?? null, messages, ...extra });
  }

  /** Begins anew with what the daemon has, as a page does that is loaded. */
  async open({ chat: id, token }) {
    const headers = token ? { authorization: `Bearer ${token}` } : this.headers;
    const thread = encodeURIComponent(`web:chat:${id}`);
    const answer = await fetch(`${this.base}/api/threads/${thread}/messages`, { headers: this.headers });
    const { messages } = await answer.json();
    const chat = new Chat({
      id,
      messages,
      transport: new DefaultChatTransport({ api: `${this.base}/api/chat`, headers }),
      // As the SDK's documentation has it: a message whose questions are answered goes back by itself.
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      // A client that was let go has nothing to show any more.
      shown: () => this.chat === chat && this.show(),
    });
    this.chat = chat;
  }

  async obey(order) {
    switch (order.do) {
      case 'open': return this.open(order);
      case 'send': return this.chat.sendMessage({ text: order.text, files: order.files, messageId: order.messageId });
      case 'regenerate': return this.chat.regenerate({ messageId: order.messageId });
      case 'resume': return this.chat.resumeStream();
      case 'answer': return this.chat.addToolApprovalResponse({ id: order.id, approved: order.approved, reason: order.reason });
      case 'stop': return this.chat.stop();
      default: throw new Error(`unknown order ${order.do}`);
    }
  }
}

async function serve(base) {
  const client = new Client(base, process.env.TOKEN);
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    // Not awaited: a stop must be heard while an answer is read.
    client.obey(order).then(
      () => client.show({ done: order.do }),
      (error) => tell({ done: order.do, fault: `${error.name}: ${error.message}` }),
    );
  }
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === 'threads') tell(await Promise.all(rest.map(judge)));
else if (mode === 'client') await serve(...rest);
else throw new Error('threads or client?');
