// The page of settings: every key of ship.json with its value, its origin and what it means.
// Editable ones are changed in the file; secrets are never shown.

import { api } from './api.js';
import { attempt, button, problemLine, problemWords } from './controls.js';
import { h, icon, setText } from './dom.js';
import { t } from './strings.js';

/** The section of a key: `llm` of `llm.model`, `general` of a key outside of all sections. */
export function sectionOf(key) {
  const at = key.indexOf('.');
  return at < 0 ? 'general' : key.slice(0, at);
}

/** The text of a value in a field. */
export function fieldText(value) {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/**
 * The value of a field's text; throws a SyntaxError where it is not one. An empty text removes the
 * key: the value is null.
 */
export function fieldValue(kind, text) {
  if (text.trim() === '') return null;
  return kind === 'text' ? text : JSON.parse(text);
}

/** Whether a key is found by the words of a search. */
export function isFound(entry, words) {
  const text = `${entry.key} ${entry.about}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function originWords({ source, line, variables = [] }) {
  const place = source === 'ship.json' ? `ship.json:${line ?? '?'}` : source === 'default' ? t('settingsFromDefault') : '';
  const names = variables.map(({ name, from }) => `${name} (${t('settingsVariableFrom')[from] ?? from})`);
  return [place, ...names].filter(Boolean).join(' · ');
}

// One key with its field.
class SettingRow {
  /** `save(key, value)` sends the change. */
  constructor(entry, save) {
    this.entry = entry;
    this.problem = problemLine();
    const { key } = entry;
    const id = `setting-${key}`;
    this.field = entry.editable ? this.makeField(id) : null;
    this.saveButton = button('approve', t('save'), {
      testid: 'setting-save', described: t('settingsSaveLabel', { key }), onclick: () => this.save(save),
    });
    this.unset = button('keep', t('settingsUnset'), {
      testid: 'setting-unset', described: t('settingsUnsetLabel', { key }),
      onclick: () => attempt(this.el, this.problem, () => save(key, null)),
    });
    this.saveButton.hidden = true;
    this.unset.hidden = !entry.editable || entry.origin.source !== 'ship.json';
    this.el = h('li', { class: 'setting', 'data-testid': 'setting', 'data-key': key },
      h('div', { class: 'setting-head' },
        h(this.field ? 'label' : 'span', { class: 'setting-key', for: this.field ? id : null, text: key }),
        h('span', { class: 'setting-origin', 'data-source': entry.origin.source, 'data-testid': 'setting-origin', text: originWords(entry.origin) }),
        entry.restart ? h('span', { class: 'setting-note', text: t('settingsAtStart') }) : null,
        entry.editable ? null : h('span', { class: 'setting-note', text: t('settingsElsewhere') })),
      h('p', { class: 'setting-about', id: `${id}-about`, text: entry.about }),
      h('div', { class: 'setting-edit' }, this.field ?? h('code', { class: 'setting-value', text: this.shown() || '—' }), this.saveButton, this.unset),
      this.problem);
  }

  shown() {
    const { secret, set, value } = this.entry;
    if (secret) return set ? t('settingsSecretSet') : t('settingsSecretUnset');
    return fieldText(value);
  }

  makeField(id) {
    const { kind, choices = [], secret, value, minimum, maximum, default: fallback } = this.entry;
    const common = { id, class: 'text-input', 'aria-describedby': `${id}-about`, 'data-testid': 'setting-field', oninput: () => this.typed(), onchange: () => this.typed() };
    // Written with its variables, so that saving it does not replace them by their values.
    const text = secret ? '' : fieldText(this.entry.written ?? value);
    this.before = text;
    if (choices.length > 0 || kind === 'boolean') {
      const options = kind === 'boolean' ? ['true', 'false'] : choices;
      const names = kind === 'boolean' ? t('yesNo') : {};
      const unset = text === '' ? [h('option', { value: '', text: '—', selected: true })] : [];
      return h('select', { ...common, class: 'scope' }, ...unset,
        ...options.map((option) => h('option', { value: option, text: names[option] ?? option, selected: option === text })));
    }
    const hint = secret ? this.shown() : fallback === undefined ? '' : t('settingsDefault', { value: fieldText(fallback) });
    if (kind === 'list' || kind === 'object') {
      const area = h('textarea', { ...common, class: 'text-input setting-json', rows: Math.min(8, text.split('\n').length), spellcheck: 'false' });
      area.value = text;
      return area;
    }
    const isNumber = (kind === 'integer' || kind === 'number') && !text.includes('$');
    const field = h('input', {
      ...common, type: secret ? 'password' : isNumber ? 'number' : 'text', autocomplete: 'off', spellcheck: 'false', placeholder: hint,
      min: isNumber ? minimum : null, max: isNumber ? maximum : null, step: kind === 'number' ? 'any' : null,
    });
    field.value = text;
    return field;
  }

  get isTouched() {
    return this.field !== null && this.field.value !== this.before;
  }

  typed() {
    this.saveButton.hidden = !this.isTouched;
    this.problem.hidden = true;
  }

  async save(save) {
    const { key, kind } = this.entry;
    await attempt(this.el, this.problem, async () => {
      let value;
      try {
        value = fieldValue(kind, this.field.value);
      } catch {
        throw new Error(t('settingsJson'));
      }
      await save(key, value);
    });
  }
}

export class SettingsPage {
  constructor(body) {
    this.entries = [];
    /** By key: a row with unsaved words outlives the saving of another one. */
    this.rows = new Map();
    this.result = h('p', { class: 'panel-result', role: 'status', 'data-testid': 'settings-result' });
    this.alarm = h('div', { class: 'panel-alarm', role: 'alert', 'data-testid': 'settings-problems', hidden: true });
    this.restart = h('p', { class: 'page-notice', 'data-testid': 'settings-restart', hidden: true });
    this.search = h('input', { class: 'text-input', type: 'search', 'aria-label': t('settingsSearch'), placeholder: t('settingsSearch'), 'data-testid': 'settings-search', oninput: () => this.render() });
    this.setOnly = h('input', { type: 'checkbox', 'data-testid': 'settings-set-only', onchange: () => this.render() });
    this.list = h('div', { class: 'setting-sections' });
    this.none = h('p', { class: 'panel-none', text: t('settingsNone'), hidden: true });
    this.about = h('p', { class: 'panel-about', text: t('settingsAbout') });
    body.append(this.about, this.alarm, this.restart,
      h('div', { class: 'search-row settings-find' }, this.search, h('label', { class: 'check-label' }, this.setOnly, t('settingsSetOnly'))),
      this.result, this.list, this.none);
  }

  show() {
    this.load();
  }

  async load() {
    try {
      this.take(await api.config());
    } catch (error) {
      this.alarm.hidden = false;
      setText(this.alarm, problemWords(error));
    }
  }

  take({ file, keys, restart = [], problems = [] }) {
    this.entries = keys;
    setText(this.about, file ? t('settingsAbout') : `${t('settingsAbout')} ${t('settingsNoFile')}`);
    this.renderState(restart, problems);
    this.render();
  }

  renderState(restart, problems) {
    this.alarm.hidden = problems.length === 0;
    this.alarm.replaceChildren(h('p', { text: t('settingsInvalid') }), h('ul', null, problems.map(({ file, line, path, message, fix }) =>
      h('li', null, h('code', { text: line ? `${file}:${line}` : file }), ` ${[path, message].filter(Boolean).join(': ')}${fix ? ` — ${fix}` : ''}`))));
    this.restart.hidden = restart.length === 0;
    this.restart.replaceChildren(icon('retry'), h('span', { text: `${t('settingsRestart', { keys: restart.join(', ') })} (${t('settingsRestartHow')})` }));
  }

  async save(key, value) {
    const done = await api.changeConfig([{ key, value }]);
    this.rows.delete(key);
    const { restart = [], problems = [], variables = [], overridden = [] } = done ?? {};
    await this.load();
    this.renderState(restart, problems);
    const affected = restart.filter((changed) => changed === key || changed.startsWith(`${key}.`));
    setText(this.result, [
      affected.length ? t('settingsSavedRestart', { keys: affected.join(', ') }) : t('settingsSaved'),
      variables.length ? t('settingsVariable', { names: variables.join(', ') }) : '',
      overridden.length ? t('settingsOverridden', { names: overridden.join(', ') }) : '',
    ].filter(Boolean).join(' '));
    // The row was made anew.
    this.list.querySelector(`[data-key="${CSS.escape(key)}"] [data-testid="setting-field"]`)?.focus();
  }

  rowOf(entry) {
    const known = this.rows.get(entry.key);
    if (known && (known.isTouched || JSON.stringify(known.entry) === JSON.stringify(entry))) return known;
    const row = new SettingRow(entry, (key, value) => this.save(key, value));
    this.rows.set(entry.key, row);
    return row;
  }

  render() {
    const words = this.search.value.trim();
    const narrowed = words !== '' || this.setOnly.checked;
    const open = new Set([...this.list.querySelectorAll('details[open]')].map((el) => el.dataset.section));
    const sections = new Map();
    for (const entry of this.entries) {
      if (words && !isFound(entry, words)) continue;
      if (this.setOnly.checked && entry.origin.source === 'default') continue;
      const name = sectionOf(entry.key);
      sections.set(name, [...(sections.get(name) ?? []), entry]);
    }
    this.none.hidden = sections.size > 0 || this.entries.length === 0;
    this.list.replaceChildren(...[...sections].map(([name, entries]) => h('details',
      { class: 'setting-section', 'data-section': name, 'data-testid': 'settings-section', open: narrowed || open.has(name) || (open.size === 0 && name === 'llm') },
      h('summary', null, icon('chevron'), h('h3', { text: t('settingsSections')[name] ?? name }), h('span', { class: 'setting-count', text: String(entries.length) })),
      h('ul', { class: 'setting-list' }, entries.map((entry) => this.rowOf(entry).el)))));
  }
}
