// Something that the daemon is asked for whenever it may have changed. Knows nothing of the DOM.

export class Source {
  /** `changed()` after any change, also for the worse. */
  constructor(changed) {
    this.changed = changed;
    /** Why the last question got no answer, or null. */
    this.failed = null;
    this.asking = null;
    this.again = false;
  }

  /** Asks the daemon; one question at a time, and once more if asked meanwhile. */
  refresh() {
    if (this.asking) {
      this.again = true;
      return this.asking;
    }
    this.asking = this.load()
      .then(() => {
        this.failed = null;
      }, (error) => {
        this.failed = error;
      })
      .then(() => {
        this.asking = null;
        this.changed();
        if (!this.again) return undefined;
        this.again = false;
        return this.refresh();
      });
    return this.asking;
  }

  /** @returns {Promise<void>} */
  async load() {}
}
