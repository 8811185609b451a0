// The HTTP side of the console: one function per endpoint, one error type.

import * as session from './session.js';

/** `status` is the HTTP status, or 0 when the daemon could not be reached. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message @param {number|null} retryAfter */
  constructor(status, message, retryAfter = null) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    /** Seconds of `Retry-After`, if the daemon sent it. */
    this.retryAfter = retryAfter;
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

/** Sends a request with the login of this page; with another one if the first was for another project. */
async function send(path, { headers = {}, ...options } = /** @type {RequestInit} */ ({})) {
  for (;;) {
    const used = session.credential();
    const authorization = used === null ? {} : { authorization: `Bearer ${used}` };
    const response = await fetch(path, { cache: 'no-store', redirect: 'error', headers: { ...headers, ...authorization }, ...options });
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
    throw new ApiError(response.status, messageOf(text), seconds(response.headers.get('retry-after')));
  } finally {
    clearTimeout(timer);
  }
}

async function call(method, path, body, sender = send) {
  const json = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const text = await within(TIMEOUT_MS, path, { method, ...json }, (response) => response.text(), sender);
  try {
    return JSON.parse(text);
  } catch {
    // Accepting calls (202, 204) need no body; callers check the result.
    return null;
  }
}

// Errors are `{error: {code, message, hint?}}`; other bodies, such as a proxy's, are ignored.
function messageOf(text) {
  try {
    return String(JSON.parse(text).error.message).slice(0, 500);
  } catch {
    return '';
  }
}

const seconds = (header) => (/^\d+$/.test(header ?? '') ? Number(header) : null);

const list = (value) => (Array.isArray(value) ? value : []);

const accessPath = (who) => `/api/access/${encodeURIComponent(who)}`;

const threadPath = (threadId) => `/api/threads/${encodeURIComponent(threadId)}`;

export const PAGE_SIZE = 50;

export const api = {
  /** Stores the session that the daemon issues for its token. */
  login: async (token) => session.keep(await call('POST', '/api/login', { token }, fetch)),

  renewLogin: async () => session.keep(await call('POST', '/api/session')),

  /** The page of the threads behind a position that an earlier page gave. */
  async threads(before) {
    const body = await call('GET', `/api/threads?${new URLSearchParams({ before })}`);
    return { threads: list(body?.threads), nextBefore: body?.nextBefore ?? null };
  },

  /** Ascending; the newest page, or the page before a message. */
  async messages(threadId, before) {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
    if (before) query.set('before', before);
    const body = await call('GET', `${threadPath(threadId)}/messages?${query}`);
    return list(body?.messages);
  },

  send: (threadId, id, text) => call('POST', `${threadPath(threadId)}/messages`, { id, text }),

  stop: (threadId) => call('POST', `${threadPath(threadId)}/stop`),

  /** Newest first. `state` narrows: `pending`, `decided`, or a state by its name. */
  async approvals(query = {}) {
    const body = await call('GET', `/api/approvals?${new URLSearchParams(query)}`);
    return list(body?.approvals);
  },

  decide: (approvalId, decision, scope) =>
    call('POST', `/api/approvals/${encodeURIComponent(approvalId)}`, { decision, scope }),

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

  setRole: (who, role) => call('POST', accessPath(who), { role }),

  removeAccess: (who) => call('DELETE', accessPath(who)),

  /** The response whose body is the stream of what happens: anywhere, and in one thread in full. */
  events: (threadId, signal) => send(`/api/events?${new URLSearchParams({ thread: threadId })}`, { signal }),

  /** A file of a message, as a blob. */
  file: (path) => within(FILE_TIMEOUT_MS, path, {}, (response) => response.blob()),

  /** A URL that downloads a file of a message; it is valid for a minute. */
  fileLink: async (path) => (await call('POST', `${path}/link`))?.url ?? '',
};
