// Folds stream chunks into one assistant message. Pure and DOM-free: every
// step returns a new message and leaves untouched parts identical, so that a
// view can skip what did not change by comparing references.

export function emptyMessage(id) {
  return { id, role: 'assistant', metadata: {}, parts: [] };
}

const isTool = (part) => part.type === 'dynamic-tool' || part.type.startsWith('tool-');

/** The tool's name, whichever of the two spellings the part uses. */
export function toolName(part) {
  return part.type === 'dynamic-tool' ? String(part.toolName ?? 'tool') : part.type.slice(5);
}

export function isToolPart(part) {
  return typeof part?.type === 'string' && isTool(part);
}

const withParts = (message, parts) => ({ ...message, parts });
const push = (message, part) => withParts(message, [...message.parts, part]);
const withMetadata = (message, extra) =>
  extra && typeof extra === 'object'
    ? { ...message, metadata: { ...message.metadata, ...extra } }
    : message;

function replaceAt(message, index, change) {
  const parts = message.parts.slice();
  parts[index] = { ...parts[index], ...change };
  return withParts(message, parts);
}

function lastIndex(parts, test) {
  for (let i = parts.length - 1; i >= 0; i--) if (test(parts[i])) return i;
  return -1;
}

// A later step may reuse an id, so only an open part matches.
function openPart(message, type, id) {
  const exact = lastIndex(message.parts, (p) => p.type === type && p.state === 'streaming' && p.id === id);
  if (exact >= 0) return exact;
  // A whole message may have replaced the live copy in mid-text and removed the ids; the text then
  // continues in the last part, if that is still open.
  const tail = message.parts.length - 1;
  const last = message.parts[tail];
  return last?.type === type && last.state === 'streaming' && last.id === undefined ? tail : -1;
}

function textDelta(message, type, chunk) {
  const delta = String(chunk.delta ?? '');
  const at = openPart(message, type, chunk.id);
  if (at < 0) return push(message, { type, id: chunk.id, text: delta, state: 'streaming' });
  return replaceAt(message, at, { text: message.parts[at].text + delta });
}

function textEnd(message, type, chunk) {
  const at = openPart(message, type, chunk.id);
  return at < 0 ? message : replaceAt(message, at, { state: 'done' });
}

function closeTexts(message) {
  if (!message.parts.some((p) => p.state === 'streaming')) return message;
  return withParts(message, message.parts.map((p) => (p.state === 'streaming' ? { ...p, state: 'done' } : p)));
}

// Changes the tool part of a call; creates it first when the chunk names a tool.
function tool(message, chunk, change) {
  const at = lastIndex(message.parts, (p) => isTool(p) && p.toolCallId === chunk.toolCallId);
  if (at >= 0) return replaceAt(message, at, change);
  if (!chunk.toolName) return message;
  const named = chunk.dynamic
    ? { type: 'dynamic-tool', toolName: chunk.toolName }
    : { type: `tool-${chunk.toolName}` };
  return push(message, { ...named, toolCallId: chunk.toolCallId, ...change });
}

function toolDelta(message, chunk) {
  const at = lastIndex(message.parts, (p) => isTool(p) && p.toolCallId === chunk.toolCallId);
  if (at < 0) return message;
  const raw = message.parts[at].rawInput;
  const before = typeof raw === 'string' ? raw : '';
  return replaceAt(message, at, { rawInput: before + String(chunk.inputTextDelta ?? '') });
}

function data(message, chunk) {
  if (chunk.transient) return message;
  const at = chunk.id === undefined
    ? -1
    : lastIndex(message.parts, (p) => p.type === chunk.type && p.id === chunk.id);
  if (at >= 0) return replaceAt(message, at, { data: chunk.data });
  const part = { type: chunk.type, data: chunk.data };
  if (chunk.id !== undefined) part.id = chunk.id;
  return push(message, part);
}

// Metadata may report a turn's end too; that status is more exact.
function end(message, chunk, status) {
  const closed = closeTexts(message);
  const current = closed.metadata?.status;
  const ended = !current || current === 'running' ? withMetadata(closed, { status }) : closed;
  return withMetadata(ended, chunk.messageMetadata);
}

/** The message after one chunk. Unknown chunk types change nothing. */
export function applyChunk(message, chunk) {
  switch (chunk?.type) {
    case 'start':
      // A replay starts from nothing; what was there would appear twice.
      return withMetadata(
        { ...message, metadata: { ...message.metadata, status: 'running' }, parts: [] },
        chunk.messageMetadata,
      );
    case 'start-step':
      return push(message, { type: 'step-start' });
    case 'finish-step':
      return closeTexts(message);
    case 'text-start':
      return push(message, { type: 'text', id: chunk.id, text: '', state: 'streaming' });
    case 'text-delta':
      return textDelta(message, 'text', chunk);
    case 'text-end':
      return textEnd(message, 'text', chunk);
    case 'reasoning-start':
      return push(message, { type: 'reasoning', id: chunk.id, text: '', state: 'streaming' });
    case 'reasoning-delta':
      return textDelta(message, 'reasoning', chunk);
    case 'reasoning-end':
      return textEnd(message, 'reasoning', chunk);
    case 'file':
      return push(message, { type: 'file', mediaType: chunk.mediaType, url: chunk.url, filename: chunk.filename });
    case 'tool-input-start':
      return tool(message, chunk, { state: 'input-streaming', rawInput: '' });
    case 'tool-input-delta':
      return toolDelta(message, chunk);
    case 'tool-input-available':
      return tool(message, chunk, { state: 'input-available', input: chunk.input });
    case 'tool-input-error':
      return tool(message, chunk, { state: 'output-error', input: chunk.input, errorText: chunk.errorText });
    case 'tool-approval-request':
      return tool(message, chunk, {
        state: 'approval-requested',
        approval: { id: chunk.approvalId, descriptor: chunk.approvalDescriptor },
      });
    case 'tool-output-available':
      return tool(message, chunk, {
        state: 'output-available',
        output: chunk.output,
        preliminary: chunk.preliminary === true,
      });
    case 'tool-output-error':
      return tool(message, chunk, { state: 'output-error', errorText: chunk.errorText });
    case 'tool-output-denied':
      return tool(message, chunk, { state: 'output-denied' });
    case 'message-metadata':
      return withMetadata(message, chunk.messageMetadata);
    case 'finish':
      return end(message, chunk, 'done');
    case 'abort':
      return end(message, chunk, 'stopped');
    case 'error':
      return end(
        push(message, { type: 'data-error', data: { kind: 'error', text: String(chunk.errorText ?? '') } }),
        chunk,
        'failed',
      );
    default:
      return typeof chunk?.type === 'string' && chunk.type.startsWith('data-') ? data(message, chunk) : message;
  }
}
