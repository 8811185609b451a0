// The HTTP side of the console: one function per endpoint, one error type.

/** `status` is the HTTP status, or 0 when the daemon could not be reached. */
export class ApiError extends Error {
  constructor(status, message, retryAfter = null) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    /** Seconds after which it may work, where the daemon said so. */
    this.retryAfter = retryAfter;
  }
}

let unauthorized = () => {};

/** Called on every 401, whichever call met it: the login form is page-wide. */
export function onUnauthorized(callback) {
  unauthorized = callback;
}

// A daemon which hangs must end in a message with a retry, not in a spinner.
const TIMEOUT_MS = 20_000;

async function call(method, path, body) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  try {
    let response;
    try {
      response = await fetch(path, {
        method,
        cache: 'no-store',
        credentials: 'same-origin',
        headers: body === undefined ? {} : { 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: abort.signal,
      });
    } catch {
      throw new ApiError(0, '');
    }
    // Read inside the time limit: headers may arrive and the body stall.
    const text = await response.text().catch(() => {
      throw new ApiError(0, '');
    });
    if (!response.ok) {
      if (response.status === 401 && path !== '/api/login') unauthorized();
      throw new ApiError(response.status, plain(text), seconds(response.headers.get('retry-after')));
    }
    if (text === '') return null;
    try {
      return JSON.parse(text);
    } catch {
      // Accepting calls (202, 204) need no body; readers check what they get.
      return null;
    }
  } finally {
    clearTimeout(timer);
  }
}

// Error bodies are plain text by contract; a proxy's HTML page helps nobody.
function plain(text) {
  const trimmed = text.trim();
  return trimmed.startsWith('<') ? '' : trimmed.slice(0, 500);
}

const seconds = (header) => (/^\d+$/.test(header ?? '') ? Number(header) : null);

const list = (value) => (Array.isArray(value) ? value : []);

const accessPath = (who) => `/api/access/${encodeURIComponent(who)}`;

const threadPath = (threadId) => `/api/threads/${encodeURIComponent(threadId)}`;

export const PAGE_SIZE = 50;

export const api = {
  login: (token) => call('POST', '/api/login', { token }),

  info: () => call('GET', '/api/info'),

  async threads() {
    const body = await call('GET', '/api/threads');
    return list(body?.threads);
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
    // A code is told by whoever asks, not by this page; so it is forgotten here at once.
    const asking = list(body?.asking).map(({ code: _, ...person }) => person);
    return { people: list(body?.people), chats: list(body?.chats), asking };
  },

  /** Gives who was let in. */
  letIn: async (code, role) => (await call('POST', '/api/access/approve', { code, role }))?.member ?? null,

  setRole: (who, role) => call('POST', accessPath(who), { role }),

  removeAccess: (who) => call('DELETE', accessPath(who)),

  eventsUrl: (threadId) => `${threadPath(threadId)}/events`,
};
