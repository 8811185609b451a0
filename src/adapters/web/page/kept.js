// What must outlive a reload and another conversation, and is too large for the tab's storage: messages that
// the daemon has not taken yet, and files that are attached to a draft. In the browser's database; where that
// is blocked, as long as the page.

const DATABASE = 'shipagent';
const TABLE = 'kept';

const request = (asked) => new Promise((resolve, reject) => {
  asked.onsuccess = () => resolve(asked.result);
  asked.onerror = () => reject(asked.error);
});

/** @type {Promise<IDBDatabase>|null} */
let opening = null;

function database() {
  opening ??= new Promise((resolve, reject) => {
    const asked = indexedDB.open(DATABASE, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(TABLE);
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  return opening;
}

/** @type {Map<string, any>} */
const memory = new Map();

/** @param {IDBTransactionMode} mode @param {(table: IDBObjectStore) => IDBRequest} act */
async function within(mode, act) {
  const transaction = (await database()).transaction(TABLE, mode);
  const result = await request(act(transaction.objectStore(TABLE)));
  if (mode === 'readwrite') {
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
  }
  return result;
}

const range = (prefix) => IDBKeyRange.bound(prefix, `${prefix}\uffff`);

// A database that does not answer must not keep a message from being sent.
const PATIENCE_MS = 2_000;
const patiently = (stored) => Promise.race([stored.catch(() => {}), new Promise((done) => setTimeout(done, PATIENCE_MS))]);

/** Each ends when the change is stored, and never fails. */
const table = {
  async put(key, value) {
    memory.set(key, value);
    await patiently(within('readwrite', (store) => store.put(value, key)));
  },
  async delete(key) {
    memory.delete(key);
    await patiently(within('readwrite', (store) => store.delete(key)));
  },
  async all(prefix) {
    const stored = await within('readonly', (store) => store.getAll(range(prefix))).catch(() => null);
    return stored ?? [...memory].filter(([key]) => key.startsWith(prefix)).map(([, value]) => value);
  },
  async clear() {
    memory.clear();
    await patiently(within('readwrite', (store) => store.clear()));
  },
};

const unsentKey = (threadId, id = '') => `unsent/${threadId}/${id}`;
const filesKey = (threadId) => `files/${threadId}/`;

/** Messages that were sent here and that the daemon has not confirmed: `{id, text, files, at}`. */
export const unsent = {
  put: (threadId, message) => table.put(unsentKey(threadId, message.id), message),
  remove: (threadId, id) => table.delete(unsentKey(threadId, id)),
  of: async (threadId) => (await table.all(unsentKey(threadId))).sort((a, b) => a.at - b.at),
};

/** The files attached to the draft of a thread. */
export const draftFiles = {
  put: (threadId, files) => (files.length ? table.put(filesKey(threadId), files) : table.delete(filesKey(threadId))),
  of: async (threadId) => (await table.all(filesKey(threadId)))[0] ?? [],
};

/** Forgets everything: the person signed out. */
export const forgetKept = () => table.clear();
