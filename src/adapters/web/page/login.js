// The page-wide login form, and signing in with the token of the start-up URL.

import { api } from './api.js';
import { setText } from './dom.js';
import { t } from './strings.js';

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

// By HTTP status.
const PROBLEMS = { 401: 'loginWrong', 429: 'loginLimited' };

export class Login {
  /** `done` starts the console after a successful login. */
  constructor(done) {
    this.done = done;
    this.visible = false;
    $('login-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const token = $('login-token').value.trim();
      // People paste what they have: the whole URL works like the token.
      if (token) this.withToken(/#token=([^&\s]+)/.exec(token)?.[1] ?? token);
    });
  }

  async withToken(token) {
    setText($('login-error'), '');
    try {
      await api.login(token);
    } catch (error) {
      this.show();
      setText($('login-error'), t(PROBLEMS[error.status] ?? 'loginFailed', { seconds: error.retryAfter ?? 60 }));
      $('login-token').select();
      return;
    }
    $('login-token').value = '';
    this.done();
  }

  show() {
    if (this.visible) return;
    this.visible = true;
    $('login').hidden = false;
    // The page behind must be unreachable for keyboard and screen reader.
    $('app').inert = true;
    $('login-token').focus();
  }

  hide() {
    if (!this.visible) return;
    this.visible = false;
    $('login').hidden = true;
    $('app').inert = false;
    $('composer').focus({ preventScroll: true });
  }
}
