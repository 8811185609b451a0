// Something that the daemon is asked for whenever it may have changed. Knows nothing of the DOM.

export class Source {
  /** `changed()` is called after any change, also after an error. */
  constructor(changed) {
    this.changed = changed;
    /** The error of the last request, or null. */
    this.failed = null;
    this.asking = null;
    this.again = false;
  }

  /** Fetches; one request at a time, and once more if called meanwhile. */
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
