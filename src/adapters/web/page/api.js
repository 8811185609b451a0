// The HTTP side of the console: one function per endpoint, one error type.

/** `status` is the HTTP status, or 0 when the daemon could not be reached. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
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
      throw new ApiError(response.status, plain(text));
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

const threadPath = (threadId) => `/api/threads/${encodeURIComponent(threadId)}`;

export const PAGE_SIZE = 50;

export const api = {
  login: (token) => call('POST', '/api/login', { token }),

  info: () => call('GET', '/api/info'),

  async threads() {
    const body = await call('GET', '/api/threads');
    return Array.isArray(body?.threads) ? body.threads : [];
  },

  /** Ascending; the newest page, or the page before a message. */
  async messages(threadId, before) {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
    if (before) query.set('before', before);
    const body = await call('GET', `${threadPath(threadId)}/messages?${query}`);
    return Array.isArray(body?.messages) ? body.messages : [];
  },

  send: (threadId, id, text) => call('POST', `${threadPath(threadId)}/messages`, { id, text }),

  stop: (threadId) => call('POST', `${threadPath(threadId)}/stop`),

  /** Newest first. `state` narrows: `pending`, `decided`, or a state by its name. */
  async approvals(query = {}) {
    const body = await call('GET', `/api/approvals?${new URLSearchParams(query)}`);
    return Array.isArray(body?.approvals) ? body.approvals : [];
  },

  decide: (approvalId, decision, scope) =>
    call('POST', `/api/approvals/${encodeURIComponent(approvalId)}`, { decision, scope }),

  eventsUrl: (threadId) => `${threadPath(threadId)}/events`,
};
