// Files that will be sent with the next message: chosen, pasted or dropped; shown above the message
// box until then.

import { h, icon, setText } from './dom.js';
import { t } from './strings.js';

// The daemon takes so much; a data URL is a third longer than its file.
const MOST_FILES = 16;
const MOST_BYTES = 8 * 1024 * 1024;

const read = (file) => new Promise((resolve, reject) => {
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
    /** @type {{filename: string, mediaType: string, url: string}[]} */
    this.files = [];
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

  /** Takes the files of a paste; returns whether there were any. */
  paste(event) {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return false;
    this.add(files);
    return true;
  }

  async add(files) {
    this.complain('');
    for (const file of files) {
      if (this.files.length >= MOST_FILES) {
        this.complain(t('attachTooMany', { count: MOST_FILES }));
        break;
      }
      const taken = this.files.reduce((sum, known) => sum + known.url.length, 0);
      if (taken + (file.size * 4) / 3 + 100 > MOST_BYTES) {
        this.complain(t('attachTooLarge', { name: file.name }));
        continue;
      }
      try {
        const url = await read(file);
        this.files.push({ filename: file.name || t('file'), mediaType: file.type || 'application/octet-stream', url });
      } catch {
        this.complain(t('attachUnreadable', { name: file.name }));
      }
    }
    this.render();
    this.changed();
  }

  complain(words) {
    setText(this.problem, words);
    this.problem.hidden = words === '';
  }

  /** The files, which are no longer here afterwards. */
  take() {
    const taken = this.files;
    this.clear();
    return taken;
  }

  clear() {
    this.files = [];
    this.complain('');
    this.render();
    this.changed();
  }

  render() {
    this.list.hidden = this.files.length === 0;
    this.list.replaceChildren(...this.files.map((file) => h('li', { class: 'attachment', 'data-testid': 'attachment' },
      file.mediaType.startsWith('image/') && !file.mediaType.includes('svg') ? h('img', { src: file.url, alt: '' }) : icon('file'),
      h('span', { text: file.filename }),
      h('button', {
        type: 'button', class: 'icon-button', 'aria-label': t('attachRemove', { name: file.filename }), 'data-testid': 'attachment-remove',
        onclick: () => {
          this.files = this.files.filter((known) => known !== file);
          this.render();
          this.changed();
        },
      }, icon('close')))));
  }
}
