// Who may talk to the agent, who asks to, and which groups are open to everybody
// in them. Knows nothing of the DOM.

import { api } from './api.js';
import { Source } from './source.js';

/** From the least to the most. */
export const ROLES = ['guest', 'member', 'owner'];

/** What somebody is whose role was not said. */
export const USUAL_ROLE = 'member';

/** What people call somebody, if they do, or else how they are written in ship.json. */
export const callName = (person) => person.name || person.id;

export class Access extends Source {
  constructor(changed) {
    super(changed);
    this.people = [];
    this.chats = [];
    this.waiting = [];
    /** How many ask, also while nobody looks at who. */
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

  /** The daemon told how many ask; who they are is read only while somebody looks. */
  heard(count, looking) {
    this.count = count;
    if (looking) this.refresh();
    else this.changed();
  }

  /** Gives who was let in. */
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

  async setRole(id, role) {
    try {
      await api.setRole(id, role);
    } finally {
      await this.refresh();
    }
  }

  /** Takes access from a person or a group. Who has none any more is no trouble. */
  async remove(id) {
    try {
      await api.removeAccess(id);
    } catch (error) {
      if (error.status !== 404) throw error;
    }
    this.people = this.people.filter((person) => person.id !== id);
    this.chats = this.chats.filter((chat) => chat.id !== id);
    this.changed();
    this.refresh();
  }
}
