// What can be done with a conversation: rename, pin, archive, export, delete. One menu for all
// rows of the list, and the dialogs that it opens.

import { api } from './api.js';
import { attempt, button, problemLine } from './controls.js';
import { h, icon, setText } from './dom.js';
import { saveThread } from './export.js';
import { t } from './strings.js';

export class ThreadMenu {
  /** `toast(words)` shows what was done. */
  constructor({ toast }) {
    this.toast = toast;
    this.menu = h('div', { class: 'menu', role: 'menu', popover: 'auto', 'data-testid': 'thread-menu', onkeydown: (event) => this.onKey(event) });
    this.dialog = h('dialog', { class: 'ask', 'data-testid': 'thread-dialog', 'aria-labelledby': 'ask-title' });
    // In the landmark that its buttons are in; on the screen it is above everything.
    document.getElementById('sidebar').append(this.menu);
    document.body.append(this.dialog);
  }

  /** Opens the menu of a thread beside the button that was pressed. */
  open(thread, opener) {
    this.opener = opener;
    const { threadId, pinned = false, archived = false } = thread;
    const item = (name, picture, words, act) => h('button', {
      type: 'button', class: 'menu-item', role: 'menuitem', 'data-testid': `thread-${name}`,
      onclick: () => {
        this.menu.hidePopover();
        act();
      },
    }, icon(picture), h('span', { text: words }));
    this.menu.replaceChildren(
      item('rename', 'edit', t('threadRename'), () => this.askTitle(thread)),
      item('pin', 'pin', t(pinned ? 'threadUnpin' : 'threadPin'), () => this.change(threadId, { pinned: !pinned })),
      item('archive', 'archive', t(archived ? 'threadUnarchive' : 'threadArchive'), () => this.change(threadId, { archived: !archived })),
      item('markdown', 'file', t('threadMarkdown'), () => this.save(thread, 'md')),
      item('json', 'file', t('threadJson'), () => this.save(thread, 'json')),
      item('delete', 'trash', t('threadDelete'), () => this.askDelete(thread)));
    this.menu.showPopover();
    const at = opener.getBoundingClientRect();
    this.menu.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - this.menu.offsetHeight - 8))}px`;
    this.menu.style.left = `${Math.max(8, Math.min(at.left, innerWidth - this.menu.offsetWidth - 8))}px`;
    this.menu.firstElementChild.focus();
  }

  onKey(event) {
    const items = [...this.menu.children];
    const at = items.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      items.at(next % items.length)?.focus();
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault();
      event.stopPropagation();
      this.menu.hidePopover();
      this.opener?.focus();
    }
  }

  async change(threadId, change) {
    try {
      await api.changeThread(threadId, change);
      if (change.archived !== undefined) this.toast(t(change.archived ? 'threadArchived' : 'threadUnarchived'));
    } catch (error) {
      this.toast(error.message || t('offline'));
    }
  }

  async save(thread, format) {
    try {
      await saveThread(thread, format);
    } catch (error) {
      this.toast(error.message || t('offline'));
    }
  }

  show(title, ...content) {
    this.dialog.replaceChildren(h('h2', { id: 'ask-title', text: title }), ...content);
    this.dialog.showModal();
  }

  askTitle({ threadId, title }) {
    const input = h('input', { class: 'text-input', type: 'text', maxlength: 200, value: title ?? '', 'aria-label': t('threadTitle'), 'data-testid': 'thread-title-input' });
    const problem = problemLine();
    const form = h('form', {
      onsubmit: async (event) => {
        event.preventDefault();
        if (await attempt(form, problem, () => api.changeThread(threadId, { title: input.value.trim() || null }))) this.dialog.close();
      },
    }, input, h('p', { class: 'field-hint', text: t('threadTitleHint') }),
    h('div', { class: 'answers' }, h('button', { type: 'submit', class: 'answer answer-approve', 'data-testid': 'thread-title-save', text: t('save') }), this.cancel()), problem);
    this.show(t('threadRename'), form);
    input.select();
  }

  cancel() {
    return button('keep', t('cancel'), { testid: 'thread-cancel', onclick: () => this.dialog.close() });
  }

  // Asked twice: what is deleted cannot be brought back.
  askDelete({ threadId, title, messageCount }) {
    const problem = problemLine();
    const words = h('p', { text: t('threadDeleteAsk', { title: title || t('untitled'), count: messageCount ?? 0 }) });
    const row = h('div', { class: 'answers' });
    const last = button('remove', t('threadDeleteForGood'), {
      testid: 'thread-delete-yes',
      onclick: async () => {
        if (!(await attempt(row, problem, () => api.deleteThread(threadId)))) return;
        this.dialog.close();
        this.toast(t('threadDeleted'));
      },
    });
    const first = button('remove', t('threadDelete'), {
      testid: 'thread-delete-first',
      onclick: () => {
        setText(words, t('threadDeleteSure'));
        first.replaceWith(last);
        cancel.focus();
      },
    });
    const cancel = this.cancel();
    row.append(first, cancel);
    this.show(t('threadDelete'), words, row, problem);
    cancel.focus();
  }
}
