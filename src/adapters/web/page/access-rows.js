// The rows of the access panel: open requests, admitted people, open groups.

import { callName, ROLES, USUAL_ROLE } from './access.js';
import { AskFirst, attempt, button, problemLine } from './controls.js';
import { h, setText } from './dom.js';
import { ago, channelName, moment, personName, t, until } from './strings.js';
import { channelOf } from './thread.js';

const place = (id) => channelName(channelOf(id)).replace(/^the /, '');

// A person: display name, platform, and the id as written in ship.json, which cannot be forged.
function identity(id, name) {
  return h('div', { class: 'who-line' },
    h('strong', { 'data-testid': 'who-name', text: name || id.split(':').slice(2).join(':') }),
    h('span', { class: 'who-place', text: place(id) }),
    h('code', { class: 'who-id', text: id }));
}

/** The options of a role. A role that this page does not know is kept. */
export function roleOptions(current = USUAL_ROLE) {
  const names = ROLES.includes(current) ? ROLES : [...ROLES, current];
  return names.map((name) => h('option', { value: name, text: t('roles')[name] ?? name, selected: name === current }));
}

/** A person who requests access. The code is theirs to pass on: it is never shown here. */
export class AskingRow {
  /** `refuse(person)` drops the request. */
  constructor(person, { refuse }) {
    this.when = h('span');
    this.problem = problemLine();
    this.el = h('li', { class: 'entry entry-asking', 'data-testid': 'asking', 'data-who': person.id },
      h('div', { class: 'entry-main' }, identity(person.id, person.name), h('p', { class: 'question-meta' }, this.when)),
      button('deny', t('refuse'), {
        testid: 'refuse', described: t('refuseLabel', { who: callName(person) }),
        onclick: () => attempt(this.el, this.problem, () => refuse(person)),
      }),
      this.problem);
  }

  update(person) {
    setText(this.when, [
      t('askedAgo', { age: ago(Date.parse(person.askedAt)) }),
      t('codeEnds', { when: until(Date.parse(person.expiresAt)) }),
    ].join(' · '));
  }
}

export class MemberRow {
  /** `setRole(id, role)` and `remove(id)` send the change to the daemon. */
  constructor(person, { setRole, remove }) {
    const who = callName(person);
    this.role = person.role ?? USUAL_ROLE;
    this.problem = problemLine();
    this.facts = h('span');
    this.select = h('select', {
      class: 'scope', 'aria-label': t('roleOf', { who }), title: t('roleOf', { who }), 'data-testid': 'member-role',
      onchange: () => this.choose(),
    }, ...roleOptions(this.role));
    // Not on change: with the keyboard every role on the way would be saved.
    this.save = button('approve', t('roleSave'), {
      testid: 'member-role-save', described: t('roleSaveLabel', { who }),
      // The button disappears once saved, so the focus returns to the select.
      onclick: async () => (await this.attempt(() => setRole(person, this.select.value))) && this.select.focus(),
    });
    this.hint = h('p', { class: 'let-in-hint', 'data-testid': 'member-role-hint' });
    this.remove = new AskFirst('remove', {
      label: t('remove'), described: t('removeLabel', { who }), question: t('removeAsk', { who }), yes: t('remove'), no: t('keep'),
    }, () => this.attempt(() => remove(person)));
    this.el = h('li', { class: 'entry', 'data-testid': 'member', 'data-who': person.id },
      h('div', { class: 'entry-main' }, identity(person.id, person.name), h('p', { class: 'question-meta' }, this.facts)),
      h('div', { class: 'entry-deeds' }, h('span', { class: 'answer-pair' }, this.select, this.save), this.remove.el),
      this.hint,
      this.problem);
    this.choose();
  }

  attempt(act) {
    return attempt(this.el, this.problem, act);
  }

  // Explains a role while it is being chosen.
  choose() {
    const chosen = this.select.value;
    this.save.hidden = chosen === this.role;
    this.hint.hidden = chosen === this.role;
    setText(this.hint, t('roleHints')[chosen] ?? '');
    this.hint.dataset.role = chosen;
  }

  update(person) {
    const role = person.role ?? USUAL_ROLE;
    // Changed here or elsewhere; an unsaved choice stays.
    if (role !== this.role) {
      const untouched = this.select.value === this.role || this.select.value === role;
      this.role = role;
      if (untouched) this.select.replaceChildren(...roleOptions(role));
      this.choose();
    }
    this.el.dataset.role = role;
    setText(this.facts, [t('letInBy', { who: personName(person.approvedBy) }), moment(person.approvedAt)].filter(Boolean).join(' · '));
  }
}

export class GroupRow {
  constructor(chat, { remove }) {
    this.problem = problemLine();
    this.facts = h('span');
    this.el = h('li', { class: 'entry', 'data-testid': 'group', 'data-who': chat.id },
      h('div', { class: 'entry-main' }, identity(chat.id), h('p', { class: 'question-meta' }, this.facts)),
      button('remove', t('groupClose'), {
        testid: 'group-close', described: t('groupCloseLabel', { who: chat.id }),
        onclick: () => attempt(this.el, this.problem, () => remove(chat)),
      }),
      this.problem);
  }

  update(chat) {
    setText(this.facts, [t('openedBy', { who: personName(chat.openedBy) }), moment(chat.openedAt)].filter(Boolean).join(' · '));
  }
}
