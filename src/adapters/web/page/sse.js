// Parses server-sent events from text that arrives in pieces. DOM-free.

export class EventParser {
  /** `dispatch(name, data)` is called for every complete event. */
  constructor(dispatch) {
    this.dispatch = dispatch;
    this.rest = '';
    this.name = '';
    this.data = [];
  }

  push(text) {
    // A carriage return at the end may be the first half of a line break.
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    for (const line of lines) this.line(line);
  }

  line(line) {
    if (line === '') {
      if (this.data.length) this.dispatch(this.name || 'message', this.data.join('\n'));
      this.name = '';
      this.data = [];
      return;
    }
    // A line without a colon is a field without a value; a comment has no name.
    const [, field, value] = /^([^:]*)(?:: ?)?(.*)$/s.exec(line);
    if (field === 'event') this.name = value;
    else if (field === 'data') this.data.push(value);
  }
}
