// The page of scheduled tasks: all tasks with their next times and last results; one task with its
// history and its file.

import { AskFirst, attempt, button, problemLine, problemWords, Rows } from './controls.js';
import { h, icon, setAttr, setText } from './dom.js';
import { ago, moment, t, until } from './strings.js';
import { TaskEditor } from './task-editor.js';
import { Tasks, TEMPLATE } from './tasks.js';
import { uuid } from './thread.js';
import { threadHash } from './threads-view.js';

// The address of the form for a new task; no id may contain the sign.
const NEW = '+';

const OUTCOME_ICONS = { done: 'ok', quiet: 'ok', failed: 'error', 'timed-out': 'error', stopped: 'halted', missed: 'waiting', overlap: 'waiting', budget: 'waiting' };

const taskHash = (id) => `#/tasks/${encodeURIComponent(id)}`;

function outcome(entry) {
  const words = t('taskOutcomes')[entry.outcome] ?? entry.outcome;
  return h('span', { class: 'outcome', 'data-outcome': entry.outcome }, icon(OUTCOME_ICONS[entry.outcome] ?? 'ok'), h('span', { text: words }));
}

function nextWords(next) {
  const at = Date.parse(next?.[0] ?? '');
  return Number.isFinite(at) ? t('taskNext', { when: until(at), at: moment(next[0]) }) : '';
}

function deliverWords(targets) {
  if (targets.length === 0) return t('taskDeliverNone');
  return t('taskDeliver', { place: targets.map((target) => (target === 'owner' ? t('taskDeliverOwner') : target)).join(', ') });
}

// What can be done with a task; also in the list, where a row is kept by its id.
class TaskDeeds {
  constructor(id, tasks, told) {
    this.problem = problemLine();
    this.run = button('run', t('taskRun'), {
      testid: 'task-run', described: t('taskRunLabel', { id }),
      // One key for each press: a request that is repeated by the browser starts nothing twice.
      onclick: () => this.attempt(async () => {
        const { threadId } = await tasks.run(id, uuid()) ?? {};
        told(t('taskStarted', { id }), threadId);
      }),
    });
    this.pause = button('pause', t('taskPause'), {
      testid: 'task-pause', described: t('taskPauseLabel', { id }),
      onclick: () => this.attempt(async () => {
        await tasks.pause(id);
        told(t('taskPaused', { id }));
        this.resume.focus();
      }),
    });
    this.resume = button('resume', t('taskResume'), {
      testid: 'task-resume', described: t('taskResumeLabel', { id }),
      onclick: () => this.attempt(async () => {
        await tasks.resume(id);
        told(t('taskResumed', { id }));
        this.pause.focus();
      }),
    });
    this.el = h('div', { class: 'entry-deeds' }, this.run, this.pause, this.resume);
  }

  attempt(act) {
    return attempt(this.el, this.problem, act);
  }

  update({ status }) {
    this.run.hidden = status === 'broken';
    this.run.disabled = status === 'running';
    this.pause.hidden = !['waiting', 'running'].includes(status);
    this.resume.hidden = !['paused', 'disabled'].includes(status);
  }
}

// What there is to know about a task, without its file.
class TaskFacts {
  constructor() {
    this.schedule = h('p', { class: 'task-schedule' });
    this.next = h('p', { class: 'question-meta', 'data-testid': 'task-next' });
    this.running = h('p', { class: 'question-meta', 'data-testid': 'task-running', hidden: true });
    this.deliver = h('p', { class: 'question-meta', 'data-testid': 'task-deliver' });
    this.last = h('div', { class: 'task-last' });
    this.trouble = h('p', { class: 'answer-problem', 'data-testid': 'task-mistake', hidden: true });
    this.remarks = h('p', { class: 'question-meta', 'data-testid': 'task-remarks', hidden: true });
    this.el = h('div', null, this.schedule, this.next, this.deliver, this.running, this.last, this.remarks, this.trouble);
  }

  update(task) {
    setText(this.schedule, [task.schedule, task.timezone].filter(Boolean).join(' · '));
    this.schedule.hidden = this.schedule.textContent === '';
    setText(this.next, nextWords(task.next));
    this.next.hidden = this.next.textContent === '';
    setText(this.deliver, task.status === 'broken' ? '' : deliverWords(task.deliver ?? []));
    this.deliver.hidden = this.deliver.textContent === '';
    const { running } = task;
    this.running.hidden = !running;
    this.running.replaceChildren(...(running ? [
      h('span', { text: t('taskRunning', { age: ago(Date.parse(running.startedAt)) }) }),
      h('a', { class: 'question-thread', href: threadHash(running.threadId), text: t('taskThread') }),
    ] : []));
    const key = JSON.stringify(task.last ?? null);
    if (this.shown !== key) {
      this.shown = key;
      this.last.replaceChildren(...(task.last ? historyParts(task.last) : []));
      this.last.hidden = !task.last;
    }
    const { mistake, failures, unknownKeys } = task;
    const words = [
      mistake ? (mistake.line ? t('taskMistakeAt', { line: mistake.line, what: mistake.message }) : mistake.message) : '',
      failures > 1 ? t('taskFailures', { count: failures }) : '',
      unknownKeys?.length ? t('taskUnknownKeys', { keys: unknownKeys.join(', ') }) : '',
    ].filter(Boolean).join(' · ');
    setText(this.trouble, words);
    this.trouble.hidden = words === '';
    const remarks = (task.remarks ?? []).join(' · ');
    setText(this.remarks, remarks);
    this.remarks.hidden = remarks === '';
  }
}

function historyParts(entry) {
  return [
    h('p', { class: 'question-meta' },
      outcome(entry),
      h('span', { text: moment(entry.at) }),
      entry.trigger && entry.trigger !== 'schedule' ? h('span', { text: t('taskTriggers')[entry.trigger] ?? entry.trigger }) : null,
      entry.threadId ? h('a', { class: 'question-thread', href: threadHash(entry.threadId), text: t('taskThread') }) : null),
    ...(entry.text ? [h('p', { class: 'task-text', text: entry.text })] : []),
  ];
}

function statusChip() {
  return h('span', { class: 'status-chip', 'data-testid': 'task-status' });
}

function renderStatus(chip, status) {
  setAttr(chip, 'data-status', status);
  setText(chip, t('taskStatus')[status] ?? status);
}

class TaskRow {
  constructor(task, tasks, told) {
    this.title = h('a', { class: 'entry-title', href: taskHash(task.id), 'data-testid': 'task-open' });
    this.status = statusChip();
    this.facts = new TaskFacts();
    this.deeds = new TaskDeeds(task.id, tasks, told);
    this.id = h('code', { class: 'who-id', text: task.id });
    this.el = h('li', { class: 'entry', 'data-testid': 'task', 'data-task': task.id },
      h('div', { class: 'entry-main' },
        h('div', { class: 'entry-head' }, this.title, this.status),
        this.id,
        this.facts.el),
      this.deeds.el,
      this.deeds.problem);
  }

  update(task) {
    const title = task.title || task.id;
    setText(this.title, title);
    this.id.hidden = title === task.id;
    renderStatus(this.status, task.status);
    this.facts.update(task);
    this.deeds.update(task);
  }
}

export class TasksPage {
  constructor(body) {
    this.tasks = new Tasks(() => this.render());
    const told = (words, threadId) => this.tell(words, threadId);
    this.result = h('p', { class: 'panel-result', role: 'status', 'data-testid': 'tasks-result' });
    this.failed = h('p', { class: 'panel-alarm', role: 'alert', 'data-testid': 'tasks-failed', hidden: true });
    this.rows = new Rows(h('ul', { class: 'panel-list' }), (task) => new TaskRow(task, this.tasks, told));
    this.none = h('p', { class: 'panel-note', 'data-testid': 'tasks-none', text: t('tasksEmpty'), hidden: true });
    this.list = h('div', null,
      h('div', { class: 'page-about' },
        h('p', { class: 'panel-about', text: t('tasksAbout') }),
        h('a', { class: 'answer answer-approve', href: taskHash(NEW), 'data-testid': 'task-new', text: t('taskNew') })),
      this.rows.list,
      this.none);
    this.one = h('div', { hidden: true });
    body.append(this.result, this.failed, this.list, this.one);
  }

  tell(words, threadId) {
    this.result.replaceChildren(words, ...(threadId ? [' ', h('a', { href: threadHash(threadId), text: t('taskThread') })] : []));
  }

  show(id) {
    const moved = this.id !== undefined && this.id !== id;
    this.id = id;
    if (moved) this.tell('');
    this.list.hidden = id !== '';
    this.one.hidden = id === '';
    this.one.replaceChildren();
    this.shown = null;
    if (id === NEW) this.renderNew();
    else this.tasks.look(id);
    this.render();
  }

  heard(name) {
    // Runs are threads; the end of one is a change of its thread.
    if ((name === 'thread' || name === 'snapshot' || name === 'tasks') && this.id !== NEW) this.tasks.refresh();
  }

  tick() {
    this.render();
  }

  render() {
    const { failed, list } = this.tasks;
    this.failed.hidden = !failed || this.id === NEW;
    setText(this.failed, failed ? problemWords(failed) : '');
    if (this.id === '') {
      this.rows.render(list ?? []);
      this.none.hidden = list === null || list.length > 0;
    } else if (this.id !== NEW && this.tasks.task) this.renderOne(this.tasks.task);
  }

  back() {
    return h('p', { class: 'page-back' }, h('a', { href: '#/tasks', 'data-testid': 'tasks-back' }, icon('back'), h('span', { text: t('tasksBack') })));
  }

  renderNew() {
    const name = h('input', {
      class: 'text-input', type: 'text', required: true, maxlength: 64, pattern: '[a-z0-9\\-]+', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false',
      'aria-describedby': 'task-name-hint', 'data-testid': 'task-name',
    });
    const editor = new TaskEditor({ id: NEW, file: TEMPLATE, fresh: true }, async (file) => {
      if (!name.reportValidity()) return;
      await this.tasks.save(name.value, file);
      editor.forget();
      location.hash = taskHash(name.value);
    });
    this.one.replaceChildren(this.back(),
      h('h3', { text: t('taskNew') }),
      h('label', { class: 'field' }, h('span', { text: t('taskName') }), name, h('span', { class: 'field-hint', id: 'task-name-hint', text: t('taskNameHint') })),
      editor.el);
    name.focus();
  }

  renderOne(task) {
    if (this.shown?.id !== task.id) this.shown = this.buildOne(task);
    const { title, status, facts, deeds, editor, history } = this.shown;
    setText(title, task.title || task.id);
    renderStatus(status, task.status);
    facts.update(task);
    deeds.update(task);
    editor.update(task.file);
    const key = JSON.stringify(task.history);
    if (this.shown.key === key) return;
    this.shown.key = key;
    const rows = (task.history ?? []).map((entry) => h('li', { class: 'entry', 'data-testid': 'task-history' }, h('div', { class: 'entry-main' }, ...historyParts(entry))));
    history.replaceChildren(...(rows.length ? rows : [h('li', { class: 'panel-none', text: t('taskHistoryEmpty') })]));
  }

  buildOne(task) {
    const { id } = task;
    const [title, status, facts] = [h('h3', { tabindex: '-1' }), statusChip(), new TaskFacts()];
    const deeds = new TaskDeeds(id, this.tasks, (words, threadId) => this.tell(words, threadId));
    const editor = new TaskEditor(task, async (file, before) => {
      await this.tasks.save(id, file, before);
      this.tell(t('taskSaved', { id }));
    });
    const remove = new AskFirst('remove', {
      label: t('remove'), described: t('taskRemoveLabel', { id }), question: t('taskRemoveAsk', { id }), yes: t('remove'), no: t('keep'),
    }, () => deeds.attempt(async () => {
      await this.tasks.remove(id, editor.before);
      editor.forget();
      this.tell(t('taskRemoved', { id }));
      this.id = '';
      location.hash = '#/tasks';
    }));
    deeds.el.append(remove.el);
    const history = h('ul', { class: 'panel-list' });
    this.one.replaceChildren(this.back(),
      h('div', { class: 'entry entry-wide', 'data-testid': 'task-details' },
        h('div', { class: 'entry-main' }, h('div', { class: 'entry-head' }, title, status), h('code', { class: 'who-id', text: id }), facts.el),
        deeds.el, deeds.problem),
      h('section', { class: 'panel-section', 'aria-label': t('taskFile') }, h('h3', { text: t('taskFile') }), editor.el),
      h('section', { class: 'panel-section', 'aria-label': t('taskHistory') }, h('h3', { text: t('taskHistory') }), history));
    return { id, title, status, facts, deeds, editor, history };
  }
}
