// The access panel: admitting a person by their pairing code, and the list of admitted people. The
// code is typed and never clicked: knowing it proves who the person is.

import { callName, USUAL_ROLE } from './access.js';
import { AskingRow, GroupRow, MemberRow, roleOptions } from './access-rows.js';
import { attempt, problemWords, Rows } from './controls.js';
import { setText } from './dom.js';
import { Panel } from './panel.js';
import { t, until } from './strings.js';

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

export class AccessView {
  constructor(access) {
    this.access = access;
    this.panel = new Panel('access', () => this.opened());
    const remove = (who) => this.remove(who);
    /** @type {[string, Rows, () => any[]][]} */
    this.lists = [
      ['asking', new Rows($('asking-list'), (person) => new AskingRow(person, { refuse: (who) => this.refuse(who) })), () => access.waiting],
      ['members', new Rows($('members-list'), (person) => new MemberRow(person, { setRole: (who, role) => this.setRole(who, role), remove })), () => access.people],
      ['groups', new Rows($('groups-list'), (chat) => new GroupRow(chat, { remove })), () => access.chats],
    ];
    $('let-in-role').addEventListener('change', () => this.renderHint());
    $('invite').addEventListener('click', () => this.invite());
    $('let-in').addEventListener('submit', (event) => {
      event.preventDefault();
      this.letIn();
    });
  }

  get isOpen() {
    return this.panel.isOpen;
  }

  close() {
    this.panel.close();
  }

  opened() {
    this.tell('');
    $('let-in-code').value = '';
    $('let-in-problem').hidden = true;
    $('let-in-role').value = USUAL_ROLE;
    this.renderHint();
    $('let-in-code').focus();
    this.access.refresh();
    this.render();
  }

  tell(words) {
    setText($('access-result'), words);
  }

  async letIn() {
    const [input, role, problem] = [$('let-in-code'), $('let-in-role'), $('let-in-problem')];
    if (this.access.locked) return;
    this.tell('');
    const worked = await attempt($('let-in'), problem, async () => {
      try {
        const member = await this.access.letIn(input.value, role.value);
        const given = member?.role ?? USUAL_ROLE;
        this.tell(t('letInDone', { who: this.fullName(member), role: t('roles')[given] ?? given }));
      } catch (error) {
        // A wrong code is the common case, so its message is in the reader's language.
        if (error.status === 404) error.message = t('codeWrong');
        throw error;
      }
    });
    if (worked) {
      input.value = '';
      role.value = USUAL_ROLE;
      this.renderHint();
    }
    input.focus();
    input.select();
    this.render();
  }

  // The code is shown once: whoever sends it to the bot has the role.
  async invite() {
    this.tell('');
    await attempt($('let-in'), $('let-in-problem'), async () => {
      const { code, role, expiresAt } = await this.access.invite($('let-in-role').value);
      this.tell(t('inviteDone', { code, role: t('roles')[role] ?? role, when: until(Date.parse(expiresAt)) }));
    });
  }

  fullName(member) {
    if (!member?.id) return t('somebody');
    return member.name ? `${member.name} (${member.id})` : member.id;
  }

  async setRole(person, role) {
    await this.access.setRole(person.id, role);
    this.tell(t('roleSaved', { who: callName(person), role: t('roles')[role] ?? role }));
  }

  async remove(who) {
    await this.access.remove(who.id);
    this.tell(t(who.openedAt ? 'groupClosed' : 'removed', { who: callName(who) }));
    // The focused button was removed with its row.
    $('access-body').focus();
  }

  async refuse(person) {
    await this.access.remove(person.id);
    this.tell(t('refusedDone', { who: callName(person) }));
    // The focused button was removed with its row.
    $('access-body').focus();
  }

  renderHint() {
    const role = $('let-in-role').value;
    setText($('let-in-hint'), t('roleHints')[role] ?? '');
    $('let-in-hint').dataset.role = role;
  }

  // The wait cannot be shortened, so the form shows how long it is.
  renderLock() {
    const { locked, lockedUntil } = this.access;
    $('let-in-submit').disabled = locked;
    if (locked) {
      setText($('let-in-problem'), t('codeLocked', { when: until(lockedUntil) }));
      $('let-in-problem').hidden = false;
    } else if (this.wasLocked) $('let-in-problem').hidden = true;
    this.wasLocked = locked;
  }

  /** Rebuilds everything, for another language. */
  reset() {
    for (const [, rows] of this.lists) rows.clear();
    const chosen = $('let-in-role').value || USUAL_ROLE;
    $('let-in-role').replaceChildren(...roleOptions(chosen));
    this.tell('');
    $('let-in-problem').hidden = true;
    this.renderHint();
    this.render();
  }

  render() {
    const { failed, count } = this.access;
    this.panel.renderCount(count, t('accessLabel', { count }));
    if (!this.isOpen) return;
    $('access-failed').hidden = !failed;
    setText($('access-failed'), failed ? problemWords(failed) : '');
    for (const [name, rows, items] of this.lists) {
      rows.render(items());
      // After a failed request the list is unknown, not empty.
      $(`${name}-none`).hidden = failed !== null || items().length > 0;
    }
    this.renderLock();
  }
}
