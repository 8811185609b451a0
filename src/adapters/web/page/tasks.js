// Scheduled tasks: the list, one task with its file and history. Knows nothing of the DOM.

import { api } from './api.js';
import { Source } from './source.js';

export class Tasks extends Source {
  constructor(changed) {
    super(changed);
    /** @type {any[]|null} null until the daemon answered */
    this.list = null;
    /** The id of the task that is looked at, or ''. */
    this.id = '';
    /** @type {any} that task with its file and history, or null */
    this.task = null;
  }

  look(id) {
    if (id !== this.id) this.task = null;
    this.id = id;
    return this.refresh();
  }

  async load() {
    const { id } = this;
    if (id === '') this.list = await api.tasks();
    else {
      const task = await api.task(id);
      if (id === this.id) this.task = task;
    }
  }

  async act(act) {
    try {
      return await act();
    } finally {
      await this.refresh();
    }
  }

  run(id, key) {
    return this.act(() => api.runTask(id, key));
  }

  pause(id) {
    return this.act(() => api.pauseTask(id));
  }

  resume(id) {
    return this.act(() => api.resumeTask(id));
  }

  save(id, file, before) {
    return this.act(() => api.writeTask(id, file, before));
  }

  remove(id, before) {
    return api.removeTask(id, before);
  }
}

/** The line of a mistake, or null, and what is wrong there. */
export function mistakeOf(error) {
  return { line: error.line, message: error.message.replace(/^line \d+: /, '') };
}

/** The file of a new task. */
export const TEMPLATE = '---\nschedule: "0 9 * * 1-5"\n---\n';
