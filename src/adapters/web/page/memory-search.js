// The search of the memory page: over memory of all scopes and over all conversations.

import { api } from './api.js';
import { problemWords } from './controls.js';
import { h, setText } from './dom.js';
import { moment, t } from './strings.js';
import { threadHash } from './threads-view.js';

export class MemorySearch {
  constructor() {
    this.asked = 0;
    this.input = h('input', { class: 'text-input', type: 'search', enterkeyhint: 'search', 'aria-label': t('memorySearchLabel'), placeholder: t('memorySearchLabel'), 'data-testid': 'memory-search' });
    this.note = h('p', { class: 'panel-none', role: 'status', 'data-testid': 'memory-search-note' });
    this.results = h('ul', { class: 'panel-list' });
    this.el = h('form', {
      class: 'search-form', role: 'search',
      onsubmit: (event) => {
        event.preventDefault();
        this.find();
      },
    }, h('div', { class: 'search-row' }, this.input, h('button', { type: 'submit', class: 'answer', text: t('search') })), this.note, this.results);
  }

  async find() {
    const query = this.input.value.trim();
    const asked = ++this.asked;
    if (query === '') {
      this.results.replaceChildren();
      setText(this.note, '');
      return;
    }
    setText(this.note, t('searching'));
    try {
      const [memory, said] = await Promise.all([api.searchMemory(query), api.threads('', { q: query })]);
      if (asked !== this.asked) return;
      const found = said.threads.map(({ threadId, title, snippet }) => ({ source: 'history', threadId, title, ...snippet, text: snippet?.text ?? title }));
      this.results.replaceChildren(...memory.map(row), ...found.map(row));
      const count = memory.length + found.length;
      setText(this.note, count ? t('found', { count }) : t('foundNothing'));
    } catch (error) {
      if (asked === this.asked) setText(this.note, problemWords(error));
    }
  }
}

function row({ text, author, at, source, threadId, title }) {
  return h('li', { class: 'entry', 'data-testid': 'memory-found', 'data-source': source },
    h('div', { class: 'entry-main' },
      h('p', { class: 'memory-text', text }),
      h('p', { class: 'question-meta' },
        h('span', { text: t('memoryTiers')[source] ?? source }),
        author ? h('span', { text: author }) : null,
        Number.isFinite(at) ? h('span', { text: moment(new Date(at).toISOString()) }) : null,
        threadId ? h('a', { class: 'question-thread', href: threadHash(threadId), text: title || t('taskThread') }) : null)));
}
