// The login of this page: a session credential in the storage of the page's origin. An origin has
// one port, so no server on another port can read it. There is one entry per project: several
// projects may use one address in turn.

const CURRENT = 'ship.login';
const entry = (project) => `${CURRENT}.${project}`;

// A session lasts 30 days; one that is older than a day is renewed.
const RENEW_BELOW_MS = 29 * 24 * 60 * 60 * 1000;

// Where storage is blocked, the login lasts as long as the page.
function openStorage() {
  try {
    localStorage.setItem('ship.probe', '');
    localStorage.removeItem('ship.probe');
    return localStorage;
  } catch {
    const kept = new Map();
    return {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => kept.set(key, value),
      removeItem: (key) => kept.delete(key),
    };
  }
}

const storage = openStorage();

function read(project) {
  try {
    const { session, expiresAt } = JSON.parse(storage.getItem(entry(project)));
    return typeof session === 'string' ? { session, expiresAt } : null;
  } catch {
    return null;
  }
}

const project = () => storage.getItem(CURRENT) ?? '';

/** The credential to send, or null. */
export const credential = () => read(project())?.session ?? null;

/** Stores the session that the daemon issued for the token, or for an older session. */
export function keep(answer) {
  if (typeof answer?.session !== 'string') return;
  const owner = String(answer.project ?? '');
  storage.setItem(entry(owner), JSON.stringify({ session: answer.session, expiresAt: answer.expiresAt }));
  storage.setItem(CURRENT, owner);
}

/** Whether the login should be renewed. */
export function isOld() {
  const login = read(project());
  return login !== null && Date.parse(login.expiresAt) - Date.now() < RENEW_BELOW_MS;
}

/**
 * The daemon of project `owner` refused the credential `used`. Returns whether there is another one
 * to try. A login of another project is kept: its daemon may return to this address.
 */
export function refused(used, owner) {
  if (credential() === used) {
    if (owner === project()) storage.removeItem(entry(owner));
    else if (read(owner)) storage.setItem(CURRENT, owner);
  }
  const next = credential();
  return next !== null && next !== used;
}

/** Signs out of the current project, in all tabs. */
export function forget() {
  storage.removeItem(entry(project()));
}

/** Calls back when another tab logged in or out. */
export function onOtherTab(callback) {
  window.addEventListener('storage', (event) => {
    if (event.key === null || event.key.startsWith(CURRENT)) callback();
  });
}
