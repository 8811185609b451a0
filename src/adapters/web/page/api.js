// The HTTP side of the console: one function per endpoint, one error type.

import { spoken } from './problems.js';
import * as session from './session.js';

/** `status` is the HTTP status, or 0 when the daemon could not be reached. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message @param {number|null} retryAfter @param {string} code for programs @param {number|null} line */
  constructor(status, message, retryAfter = null, code = '', line = null) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    /** Seconds of `Retry-After`, if the daemon sent it. */
    this.retryAfter = retryAfter;
    this.code = code;
    /** The line of the text that was sent. */
    this.line = line;
  }
}

let unauthorized = () => {};

/** Called when any request needs a login: the login form is page-wide. */
export function onUnauthorized(callback) {
  unauthorized = callback;
}

// A request to a daemon that hangs must end in a message with a retry, not in a spinner.
const TIMEOUT_MS = 20_000;
const FILE_TIMEOUT_MS = 120_000;
const CHECKUP_TIMEOUT_MS = 100_000;
const BACKUP_TIMEOUT_MS = 600_000;

/** Sends a request with the login of this page; with another one if the first was for another project. */
async function send(path, { headers = {}, ...options } = /** @type {RequestInit} */ ({})) {
  for (;;) {
    const used = session.credential();
    const authorization = used === null ? {} : { authorization: `Bearer ${used}` };
    // The language that was chosen here, for what the daemon says in words.
    const words = { 'accept-language': document.documentElement.lang };
    const response = await fetch(path, { cache: 'no-store', redirect: 'error', headers: { ...headers, ...words, ...authorization }, ...options });
    // A daemon that requires a login names its project.
    const project = /realm="([^"]*)"/.exec(response.headers.get('www-authenticate') ?? '')?.[1];
    const wanted = response.status === 401 || project !== undefined;
    if (wanted && session.refused(used, project)) continue;
    if (wanted) unauthorized();
    return response;
  }
}

/** Makes a request and reads its body with `read(response)`, within a deadline. */
async function within(ms, path, options, read, sender = send) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), ms);
  const lost = () => {
    throw new ApiError(0, '');
  };
  try {
    const response = await sender(path, { ...options, signal: abort.signal }).catch(lost);
    if (response.ok) return await read(response).catch(lost);
    const text = await response.text().catch(lost);
    const { message, code, line } = problemOf(text);
    throw new ApiError(response.status, message, seconds(response.headers.get('retry-after')), code, line);
  } finally {
    clearTimeout(timer);
  }
}

async function call(method, path, body, sender = send, headers = {}) {
  const json = body === undefined ? { headers } : { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const text = await within(TIMEOUT_MS, path, { method, ...json }, (response) => response.text(), sender);
  try {
    return JSON.parse(text);
  } catch {
    // Accepting calls (202, 204) need no body; callers check the result.
    return null;
  }
}

// Errors are `{error: {code, message, hint?}}`; other bodies, such as a proxy's, are ignored.
function problemOf(text) {
  try {
    const { message, code, line, hint } = JSON.parse(text).error;
    return { message: spoken({ message: String(message).slice(0, 500), code, hint }), code: String(code ?? ''), line: Number(line) || null };
  } catch {
    return { message: '', code: '', line: null };
  }
}

const seconds = (header) => (/^\d+$/.test(header ?? '') ? Number(header) : null);

const list = (value) => (Array.isArray(value) ? value : []);

const accessPath = (who) => `/api/access/${encodeURIComponent(who)}`;

const taskPath = (id) => `/api/tasks/${encodeURIComponent(id)}`;

const threadPath = (threadId) => `/api/threads/${encodeURIComponent(threadId)}`;

export const PAGE_SIZE = 50;
const LEDGER_SIZE = 20;

export const api = {
  /** Stores the session that the daemon issues for its token. */
  login: async (token) => session.keep(await call('POST', '/api/login', { token }, fetch)),

  renewLogin: async () => session.keep(await call('POST', '/api/session')),

  /** A page of the threads that a query finds, behind a position that an earlier page gave. */
  async threads(before, query = {}) {
    const body = await call('GET', `/api/threads?${new URLSearchParams(before ? { ...query, before } : query)}`);
    return { threads: list(body?.threads), nextBefore: body?.nextBefore ?? null };
  },

  LARGEST_PAGE: 200,

  /** @param {string} threadId @param {{title?: string|null, pinned?: boolean, archived?: boolean}} change */
  changeThread: (threadId, change) => call('PATCH', threadPath(threadId), change),

  deleteThread: (threadId) => call('DELETE', threadPath(threadId)),

  /** A new thread with what was said before a message. */
  branch: async (threadId, before) => (await call('POST', `${threadPath(threadId)}/branch`, { before }))?.threadId,

  /** Another answer to the last question. */
  regenerate: (threadId) => call('POST', `${threadPath(threadId)}/regenerate`),

  /** Takes back a message that waits for its answer. */
  withdraw: (threadId, id) => call('DELETE', `${threadPath(threadId)}/messages/${encodeURIComponent(id)}`),

  editMessage: (threadId, id, text) => call('PATCH', `${threadPath(threadId)}/messages/${encodeURIComponent(id)}`, { text }),

  /** Ascending; the newest page, or the page before a message. */
  async messages(threadId, before, limit = PAGE_SIZE) {
    const query = new URLSearchParams({ limit: String(limit) });
    if (before) query.set('before', before);
    const body = await call('GET', `${threadPath(threadId)}/messages?${query}`);
    return list(body?.messages);
  },

  /** `files`: `[{mediaType, url, filename}]` with data URLs. */
  send: (threadId, id, text, files = []) => call('POST', `${threadPath(threadId)}/messages`, files.length ? { id, text, files } : { id, text }),

  stop: (threadId) => call('POST', `${threadPath(threadId)}/stop`),

  /** Newest first. `state` narrows: `pending`, `decided`, or a state by its name. */
  async approvals(query = {}) {
    const body = await call('GET', `/api/approvals?${new URLSearchParams(query)}`);
    return list(body?.approvals);
  },

  decide: (approvalId, decision, scope, reason) =>
    call('POST', `/api/approvals/${encodeURIComponent(approvalId)}`, { decision, scope, reason }),

  async grants() {
    return list((await call('GET', '/api/grants'))?.grants);
  },

  revokeGrant: (id) => call('DELETE', `/api/grants/${encodeURIComponent(id)}`),

  async access() {
    const body = await call('GET', '/api/access');
    // The person who requests access passes the code on, not this page; so it is dropped here.
    const asking = list(body?.asking).map(({ code: _, ...person }) => person);
    return { people: list(body?.people), chats: list(body?.chats), asking };
  },

  /** Returns the admitted person. */
  letIn: async (code, role) => (await call('POST', '/api/access/approve', { code, role }))?.member ?? null,

  invite: (role) => call('POST', '/api/access/invite', { role }),

  setRole: (who, role) => call('POST', accessPath(who), { role }),

  removeAccess: (who) => call('DELETE', accessPath(who)),

  async tasks() {
    return list((await call('GET', '/api/tasks'))?.tasks);
  },

  /** With its file and history. */
  task: (id) => call('GET', taskPath(id)),

  /** Starts one run for each key. */
  runTask: (id, key) => call('POST', `${taskPath(id)}/run`, undefined, send, { 'idempotency-key': key }),

  pauseTask: (id) => call('POST', `${taskPath(id)}/pause`),

  resumeTask: (id) => call('POST', `${taskPath(id)}/resume`),

  /** What a file would mean; 422 for a mistake. */
  checkTask: (file) => call('POST', '/api/tasks/check', { file }),

  writeTask: (id, file, before) => call('PUT', taskPath(id), { file, before }),

  removeTask: (id, before) => call('DELETE', taskPath(id), { before }),

  info: () => call('GET', '/api/info'),

  /** The steps of the onboarding with what they offer; 409 where the project is configured. */
  onboarding: () => call('GET', '/api/onboarding'),

  checkModel: (choice) => call('POST', '/api/onboarding/model', choice),

  checkPlatform: (choice) => call('POST', '/api/onboarding/platform', choice),

  applyOnboarding: (answers) => call('POST', '/api/onboarding', answers),

  /** Sums by one or more groupings, separated by commas. */
  usage: (query) => call('GET', `/api/usage?${new URLSearchParams(query)}`),

  /** The models of a thread, and the chosen one. */
  models: (threadId) => call('GET', `${threadPath(threadId)}/model`),

  chooseModel: (threadId, model) => call('PUT', `${threadPath(threadId)}/model`, { model }),

  async memoryScopes() {
    return list((await call('GET', '/api/memory'))?.scopes);
  },

  /** The memory of a scope, with the notes of a month or of the newest one. */
  memory: (scope, month) => call('GET', `/api/memory?${new URLSearchParams(month ? { scope, month } : { scope })}`),

  /** Changes of memory, newest first. */
  async ledger(scope, before) {
    const query = new URLSearchParams({ scope, limit: String(LEDGER_SIZE) });
    if (before !== undefined) query.set('before', String(before));
    const body = await call('GET', `/api/memory/ledger?${query}`);
    return { lines: list(body?.lines), hasMore: body?.hasMore === true, damaged: Number(body?.damaged) || 0 };
  },

  changeMemory: (body) => call('POST', '/api/memory', body),

  async searchMemory(q) {
    return list((await call('GET', `/api/memory/search?${new URLSearchParams({ q })}`))?.results);
  },

  /** The checkpoints of the newest conversations, newest first. */
  async checkpoints() {
    return list((await call('GET', '/api/memory/checkpoints'))?.checkpoints);
  },

  /** All keys with their values and origins: `{file, keys, restart, problems}`. */
  async config() {
    const body = await call('GET', '/api/config');
    return { file: body?.file === true, keys: list(body?.keys), restart: list(body?.restart), problems: list(body?.problems) };
  },

  /** `changes`: `[{key, value}]`; null removes a key. */
  changeConfig: (changes) => call('PATCH', '/api/config', { changes }),

  async instructions() {
    const body = await call('GET', '/api/instructions');
    return { text: String(body?.text ?? ''), versions: list(body?.versions) };
  },

  instructionsVersion: (id) => call('GET', `/api/instructions/${encodeURIComponent(id)}`),

  writeInstructions: (text, before) => call('PUT', '/api/instructions', { text, before }),

  /** A page of the log, newest first; `next` leads to the one before it. */
  async logs(query) {
    const body = await call('GET', `/api/logs?${new URLSearchParams(query)}`);
    return { lines: list(body?.lines), next: body?.next ?? null };
  },

  async audit(query) {
    const body = await call('GET', `/api/audit?${new URLSearchParams(query)}`);
    return { lines: list(body?.lines), more: body?.more === true };
  },

  /** The archive, as a blob. */
  backup: () => within(BACKUP_TIMEOUT_MS, '/api/backup', {}, (response) => response.blob()),

  /** The findings of the doctor. */
  checkup: () => within(CHECKUP_TIMEOUT_MS, '/api/checkup', { method: 'POST' }, async (response) => list((await response.json())?.checks)),

  /** The response whose body is the stream of what happens: anywhere, and in one thread in full. */
  events: (threadId, signal) => send(`/api/events?${new URLSearchParams({ thread: threadId })}`, { signal }),

  /** A file of a message, as a blob. */
  file: (path) => within(FILE_TIMEOUT_MS, path, {}, (response) => response.blob()),

  /** An answer as sound, as a blob. */
  speech: (threadId, messageId) => within(FILE_TIMEOUT_MS, `${threadPath(threadId)}/messages/${encodeURIComponent(messageId)}/speech`, {}, (response) => response.blob()),

  /** A URL that downloads a file of a message; it is valid for a minute. */
  fileLink: async (path) => (await call('POST', `${path}/link`))?.url ?? '',
};
