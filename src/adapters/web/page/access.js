// People with access, open requests, and groups that are open to all their members. Knows nothing
// of the DOM.

import { api } from './api.js';
import { Source } from './source.js';

/** In ascending order. */
export const ROLES = ['guest', 'member', 'owner'];

/** The role of a person without one. */
export const USUAL_ROLE = 'member';

/** The display name, or else the id as written in ship.json. */
export const callName = (person) => person.name || person.id;

export class Access extends Source {
  constructor(changed) {
    super(changed);
    this.people = [];
    this.chats = [];
    this.waiting = [];
    /** The number of open requests, also while the panel is closed. */
    this.count = 0;
    /** Until when no code is looked at, after too many wrong ones. */
    this.lockedUntil = 0;
  }

  get locked() {
    return this.lockedUntil > Date.now();
  }

  async load() {
    const { people, chats, asking } = await api.access();
    this.people = people;
    this.chats = chats;
    this.waiting = asking;
    this.count = asking.length;
  }

  /**
   * The daemon sent the number of open requests; the requests are fetched only while the panel is
   * open.
   */
  heard(count, looking) {
    this.count = count;
    if (looking) this.refresh();
    else this.changed();
  }

  /** Returns the admitted person. */
  async letIn(code, role) {
    try {
      return await api.letIn(code, role);
    } catch (error) {
      if (error.status === 429) this.lockedUntil = Date.now() + (error.retryAfter ?? 60) * 1_000;
      throw error;
    } finally {
      await this.refresh();
    }
  }

  /** Makes a code for one person: `{code, role, expiresAt}`. */
  async invite(role) {
    return await api.invite(role);
  }

  async setRole(id, role) {
    try {
      await api.setRole(id, role);
    } finally {
      await this.refresh();
    }
  }

  /** Revokes the access of a person or a group. Access that is already gone is no error. */
  async remove(id) {
    try {
      await api.removeAccess(id);
    } catch (error) {
      if (error.status !== 404) throw error;
    }
    this.people = this.people.filter((person) => person.id !== id);
    this.chats = this.chats.filter((chat) => chat.id !== id);
    this.waiting = this.waiting.filter((person) => person.id !== id);
    this.changed();
    this.refresh();
  }
}
