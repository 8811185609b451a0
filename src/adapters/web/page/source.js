// Data that is polled from the daemon. Knows nothing of the DOM.

export class Source {
  /** `changed()` is called after any change, also after an error. */
  constructor(changed) {
    this.changed = changed;
    /** The error of the last request, or null. */
    this.failed = null;
    this.asking = null;
    this.askedAt = 0;
  }

  /** Fetches; one request at a time, and once more if called meanwhile. */
  refresh() {
    if (this.asking) {
      this.again = true;
      return this.asking;
    }
    this.askedAt = Date.now();
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

  /** Fetches unless the last request is more recent than this. */
  refreshAfter(ms) {
    if (Date.now() - this.askedAt >= ms) this.refresh();
  }
}
