// Files that will be sent with the next message: chosen, pasted or dropped; shown above the message
// box until then. Each conversation has its own; they stay over a reload.

import { h, icon, setAttr, setText } from './dom.js';
import { draftFiles } from './kept.js';
import { t } from './strings.js';

// The daemon takes so much; a data URL is a third longer than its file.
const MOST_FILES = 16;
const MOST_BYTES = 8 * 1024 * 1024;

/** A file's content as a data URL. */
export const dataUrl = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(String(reader.result));
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
});

export class Attachments {
  /** `elements`: list, problem, input, button, drop; `changed()` after any change. */
  constructor({ list, problem, input, button, drop }, changed) {
    this.list = list;
    this.problem = problem;
    this.changed = changed;
    /** @type {Map<string, {files: any[], reading: Promise<boolean>, busy: number}>} By thread. */
    this.threads = new Map();
    this.thread = '';
    button.addEventListener('click', () => input.click());
    input.addEventListener('change', async () => {
      await this.add([...input.files]);
      input.value = '';
    });
    drop.addEventListener('dragover', (event) => {
      if (![...(event.dataTransfer?.types ?? [])].includes('Files')) return;
      event.preventDefault();
      drop.classList.add('dropping');
    });
    drop.addEventListener('dragleave', (event) => {
      if (!drop.contains(event.relatedTarget)) drop.classList.remove('dropping');
    });
    drop.addEventListener('drop', (event) => {
      drop.classList.remove('dropping');
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.add([...event.dataTransfer.files]);
    });
  }

  /** What is attached in a thread. */
  of(thread) {
    let known = this.threads.get(thread);
    if (!known) {
      known = { files: [], reading: Promise.resolve(true), busy: 0 };
      this.threads.set(thread, known);
    }
    return known;
  }

  get files() {
    return this.of(this.thread).files;
  }

  /** Whether files are still being read. */
  get reading() {
    return this.of(this.thread).busy > 0;
  }

  /** Shows the files of another thread. */
  async show(thread) {
    const isNew = !this.threads.has(thread);
    this.thread = thread;
    this.complain('');
    this.update(thread);
    if (!isNew) return;
    const stored = await draftFiles.of(thread);
    const known = this.of(thread);
    known.files = [...stored, ...known.files];
    this.update(thread);
  }

  /** Takes the files of a paste; returns whether there were any. */
  paste(event) {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return false;
    this.add(files);
    return true;
  }

  /** Attaches files to the thread that is open now, wherever the person goes meanwhile. Returns whether all were taken. */
  add(files) {
    const { thread } = this;
    const known = this.of(thread);
    this.complain('');
    known.busy++;
    // One after the other, so that they stay in order.
    const done = known.reading.then(() => this.readAll(thread, files)).finally(() => {
      known.busy--;
      this.update(thread);
    });
    known.reading = done.catch(() => false);
    this.update(thread);
    return done;
  }

  async readAll(thread, files) {
    const known = this.of(thread);
    const before = known.files.length;
    for (const file of files) {
      if (known.files.length >= MOST_FILES) {
        this.complain(t('attachTooMany', { count: MOST_FILES }));
        break;
      }
      const taken = known.files.reduce((sum, other) => sum + other.url.length, 0);
      if (taken + (file.size * 4) / 3 + 100 > MOST_BYTES) {
        this.complain(t('attachTooLarge', { name: file.name }));
        continue;
      }
      try {
        const url = await dataUrl(file);
        known.files.push({ filename: file.name || t('file'), mediaType: file.type || 'application/octet-stream', url });
      } catch {
        this.complain(t('attachUnreadable', { name: file.name }));
      }
    }
    await draftFiles.put(thread, known.files);
    return known.files.length - before === files.length;
  }

  complain(words) {
    setText(this.problem, words);
    this.problem.hidden = words === '';
  }

  /** The files of the open thread, which are no longer attached afterwards; `stored` ends when they are stored elsewhere. */
  take(stored = Promise.resolve()) {
    const { thread } = this;
    const known = this.of(thread);
    const taken = known.files;
    known.files = [];
    this.complain('');
    this.update(thread);
    if (taken.length) stored.then(() => draftFiles.put(thread, known.files));
    return taken;
  }

  remove(file) {
    const known = this.of(this.thread);
    known.files = known.files.filter((other) => other !== file);
    draftFiles.put(this.thread, known.files);
    this.update(this.thread);
  }

  update(thread) {
    if (thread !== this.thread) return;
    this.render();
    this.changed();
  }

  render() {
    this.list.hidden = this.files.length === 0 && !this.reading;
    setAttr(this.list, 'aria-busy', this.reading ? 'true' : null);
    this.list.replaceChildren(...this.files.map((file) => h('li', { class: 'attachment', 'data-testid': 'attachment' },
      file.mediaType.startsWith('image/') && !file.mediaType.includes('svg') ? h('img', { src: file.url, alt: '' }) : icon('file'),
      h('span', { text: file.filename }),
      h('button', {
        type: 'button', class: 'icon-button', 'aria-label': t('attachRemove', { name: file.filename }), 'data-testid': 'attachment-remove',
        onclick: () => this.remove(file),
      }, icon('close')))), ...(this.reading ? [h('li', { class: 'attachment', text: t('attachReading') })] : []));
  }
}
