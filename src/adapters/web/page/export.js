// A conversation as a file: Markdown for people, JSON for programs. Read page by page.

import { api } from './api.js';
import { h } from './dom.js';
import { t } from './strings.js';
import { commandOf } from './store.js';

async function allMessages(threadId) {
  let all = [];
  for (;;) {
    const page = await api.messages(threadId, all[0]?.id, api.LARGEST_PAGE);
    all = [...page, ...all];
    if (page.length < api.LARGEST_PAGE) return all;
  }
}

/** A value as a block of code. Its fence is longer than every one inside. */
function fenced(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  let longest = 2;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function partText(part) {
  if (part.type === 'text') return part.text;
  if (part.type === 'file') return `[${part.filename ?? part.mediaType}](${part.url})`;
  if (part.type === 'data-error') return `> ${t('errorTitle')}: ${part.data?.text ?? ''}`;
  if (part.type?.startsWith('tool-') || part.type === 'dynamic-tool') {
    const output = part.errorText ?? part.output;
    return [`**${part.toolName ?? part.type.slice(5)}** · ${part.state}`, fenced(part.input ?? {}), output === undefined ? '' : fenced(output)].filter(Boolean).join('\n\n');
  }
  return '';
}

/** @param {{title?: string, threadId: string}} thread @param {any[]} messages */
export function toMarkdown({ title, threadId }, messages) {
  const lines = [`# ${title || threadId}`];
  for (const message of messages) {
    const { authorName, authorId, timestamp } = message.metadata ?? {};
    const command = commandOf(message);
    const who = message.role === 'user' ? authorName || String(authorId ?? '').split(':').pop() || t('you') : t('agent');
    const at = Number(timestamp) > 0 ? new Date(Number(timestamp)).toISOString() : '';
    const text = command ? `\`${command.command}\`\n\n${command.reply ?? ''}` : (message.parts ?? []).map(partText).filter(Boolean).join('\n\n');
    if (text.trim()) lines.push(`## ${[who, at].filter(Boolean).join(' · ')}`, text);
  }
  return `${lines.join('\n\n')}\n`;
}

/** Offers the conversation as a download. */
export async function saveThread(thread, format) {
  const messages = await allMessages(thread.threadId);
  const text = format === 'json' ? `${JSON.stringify({ threadId: thread.threadId, title: thread.title, messages }, null, 2)}\n` : toMarkdown(thread, messages);
  const type = format === 'json' ? 'application/json' : 'text/markdown';
  const url = URL.createObjectURL(new Blob([text], { type }));
  const name = (thread.title || thread.threadId).replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) || 'conversation';
  h('a', { href: url, download: `${name}.${format}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
