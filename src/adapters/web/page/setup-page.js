// The onboarding: one step at a time, each can be skipped. The daemon checks what is entered, writes the
// project's files and starts over with them; the page waits for that.

import { api } from './api.js';
import { attempt, button, problemLine } from './controls.js';
import { h, setAttr, setText } from './dom.js';
import { modelChoice, platformChoice, setup } from './setup-state.js';
import { channelName, language, t } from './strings.js';

const POLL_MS = 400;
const PATIENCE_MS = 60_000;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);

export class SetupPage {
  constructor(body) {
    this.offer = null;
    this.checked = null;
    /** The step that is shown. */
    this.shown = null;
    this.progress = h('progress', { 'aria-labelledby': 'setup-place', max: '1', value: '0' });
    this.place = h('p', { class: 'setup-place', id: 'setup-place', 'data-testid': 'setup-place' });
    this.title = h('h3', { tabindex: '-1', 'data-testid': 'setup-title' });
    this.content = h('div', { class: 'setup-content' });
    this.result = h('div', { role: 'status', class: 'setup-result', 'data-testid': 'setup-result' });
    this.problem = problemLine();
    this.actions = h('div', { class: 'answers' });
    this.form = h('form', {
      class: 'entry entry-wide setup', 'data-testid': 'setup', novalidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        this.next(false);
      },
    }, this.place, this.progress, this.title, this.content, this.result, this.problem, this.actions);
    body.append(this.form);
  }

  async show() {
    const { applied, steps } = setup.answers;
    if (!applied || !steps.length) {
      try {
        this.offer = await api.onboarding();
      } catch (error) {
        this.form.replaceChildren(h('p', { 'data-testid': 'setup-over', text: error.status === 409 ? t('setupOver') : error.message || t('offline') }));
        return;
      }
      const { name, platform } = setup.answers;
      setup.change({ applied: false, steps: this.offer.steps, name: name || this.offer.name, platform });
    }
    const step = this.steps.includes(setup.answers.step) ? setup.answers.step : this.steps[0];
    const lost = this.lostBefore(step);
    this.go(lost ?? step);
    if (lost) this.say([{ level: 'warning', message: t('setupLost') }]);
    // After a change of the language the page is new, and so is its focus.
    if (document.activeElement === document.body) this.title.focus({ preventScroll: true });
  }

  /** The steps of this project: without a model nothing is asked about it, without a platform nobody is paired. */
  get steps() {
    const { provider, platform, steps } = setup.answers;
    const none = { key: provider === 'offline', model: provider === 'offline', owner: !platform };
    return steps.filter((step) => !none[step]);
  }

  get step() {
    return setup.answers.step;
  }

  /** The step before this one whose key or token was given and is gone: it is in the memory of the page alone. */
  lostBefore(step) {
    const { lost } = setup;
    return lost && !setup.answers.applied && this.steps.indexOf(lost) < this.steps.indexOf(step) ? lost : null;
  }

  go(step) {
    const other = this.shown !== null && this.shown !== step;
    this.shown = step;
    setup.change({ step });
    const at = this.steps.indexOf(step);
    setText(this.place, t('setupPlace', { at: at + 1, count: this.steps.length }));
    setAttr(this.progress, 'max', this.steps.length);
    setAttr(this.progress, 'value', at + 1);
    setText(this.title, t('setupTitles')[step]);
    this.problem.hidden = true;
    this.result.replaceChildren();
    this.content.replaceChildren(...STEPS[step].render(this));
    this.renderActions();
    if (other) {
      this.title.focus({ preventScroll: true });
      $('page').scrollTop = 0;
    }
  }

  renderActions(anyway = false) {
    const { step } = this;
    const label = STEPS[step].action ?? 'setupNext';
    const before = this.steps[this.steps.indexOf(step) - 1];
    const back = before && !setup.answers.applied;
    this.actions.replaceChildren(
      h('button', { type: 'submit', class: 'answer answer-approve', 'data-testid': 'setup-next', text: t(label) }),
      ...(anyway ? [button('keep', t('setupAnyway'), { testid: 'setup-anyway', onclick: () => this.next(true) })] : []),
      ...(back ? [button('back', t('setupBack'), { testid: 'setup-back', onclick: () => this.go(before) })] : []),
      ...(STEPS[step].skip ? [button('skip', t('setupSkip'), { testid: 'setup-skip', onclick: () => this.skip() })] : []));
  }

  /** Takes the answer of this step and goes on; `anyway` without a check. */
  async next(anyway) {
    const { step } = this;
    let told;
    const done = await attempt(this.form, this.problem, async () => {
      told = await STEPS[step].take?.(this, anyway);
      if (told !== false) await this.leave(step);
    });
    if (!done || told === false) {
      this.renderActions(done && STEPS[step].checks === true);
      this.form.querySelector('[data-testid=setup-next]')?.focus();
    }
  }

  async skip() {
    STEPS[this.step].skip(this);
    await attempt(this.form, this.problem, () => this.leave(this.step));
  }

  async leave(step) {
    const after = this.steps[this.steps.indexOf(step) + 1];
    const lost = this.lostBefore(after);
    if (lost) {
      this.go(lost);
      this.say([{ level: 'warning', message: t('setupLost') }]);
      return;
    }
    if ((after === 'owner' || after === 'done') && !setup.answers.applied) await this.apply(after);
    // The page may have been closed meanwhile, or built again in another language.
    if (after && this.form.isConnected) this.go(after);
    else if (after && this.step === step) setup.change({ step: after });
  }

  /** Writes the files and waits until the daemon has started over with them; `after` is the step that follows. */
  async apply(after) {
    const { language: words, name, purpose } = setup.answers;
    this.say([{ level: 'wait', message: t('setupWriting') }]);
    await api.applyOnboarding({
      language: words || undefined, name: name || undefined, purpose: purpose || undefined,
      model: modelChoice() ?? undefined, platform: platformChoice(this.keys) ?? undefined,
    });
    setup.change({ applied: true, step: after });
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      await pause(POLL_MS);
      try {
        if ((await api.info())?.onboarding === null) return;
      } catch {
        // The daemon starts over.
      }
      if (Date.now() > until) throw new Error(t('setupSlow'));
    }
  }

  /** The values that the chosen platform needs. */
  get keys() {
    return this.offer?.platforms.find((known) => known.name === setup.answers.platform)?.keys ?? [];
  }

  get provider() {
    return this.offer?.providers.find((known) => known.id === setup.answers.provider) ?? null;
  }

  /** Shows findings: `{level, message, advice?, detail?}`. */
  say(findings) {
    this.result.replaceChildren(...findings.map(({ level, message, advice, detail }) =>
      h('div', { class: 'setup-finding', 'data-level': level, 'data-testid': 'setup-finding' },
        h('p', { text: message }),
        advice ? h('p', { class: 'field-hint', text: advice }) : null,
        detail ? h('p', { class: 'setup-detail', text: detail }) : null)));
  }

  /** Calls the model. Returns whether the step is over. */
  async check() {
    this.say([{ level: 'wait', message: t('setupAsking') }]);
    try {
      this.checked = await api.checkModel(modelChoice());
    } catch (error) {
      this.say([]);
      throw error;
    }
    const { trouble, model } = this.checked;
    if (!trouble) {
      this.say([{ level: 'ok', message: t('setupAnswers', { model }) }]);
      return true;
    }
    this.say([{ level: 'error', message: trouble.message, detail: trouble.detail }]);
    return false;
  }
}

// --- the fields ---

/** @param {string} name @param {string} label @param {string} value @param {(value: string) => void} changed @param {Record<string, any>} [props] @param {any[]} hints */
function field(name, label, value, changed, props = {}, ...hints) {
  const id = `setup-${name}`;
  const input = /** @type {HTMLInputElement} */ (h(props.rows ? 'textarea' : 'input', {
    class: 'text-input', id, 'data-testid': id, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off',
    'aria-describedby': hints.length ? `${id}-hint` : null, ...props,
    oninput: () => changed(input.value.trim()),
  }));
  input.value = value;
  return h('div', { class: 'field' },
    h('label', { for: id, text: label }), input,
    hints.length ? h('p', { class: 'field-hint', id: `${id}-hint` }, ...hints) : null);
}

/** @param {string} name @param {string} label @param {{value: string, title: string, about?: string, lang?: string}[]} options @param {string} current @param {(value: string) => void} changed */
function radios(name, label, options, current, changed) {
  return h('fieldset', { class: 'setup-options' },
    h('legend', { class: 'visually-hidden', text: label }),
    options.map(({ value, title, about, lang }) => h('label', { class: 'setup-option', lang },
      h('input', { type: 'radio', name, value, checked: value === current, 'data-testid': `setup-${name}-${value || 'none'}`, onchange: () => changed(value) }),
      h('span', null, h('b', { text: title }), about ? h('span', { class: 'field-hint', text: about }) : null))));
}

const link = (href) => h('a', { href, target: '_blank', rel: 'noopener noreferrer', text: href.replace(/^https:\/\//, '') });

const hint = (text) => h('p', { class: 'panel-about', text });

// --- the steps ---

/**
 * `render(page)` gives the content, `take(page, anyway)` uses the answer and returns false to stay,
 * `skip(page)` drops it; `checks` steps can be kept in spite of trouble, `action` names the button.
 * @type {Record<string, {render: (page: any) => any[], take?: (page: any, anyway: boolean) => any, skip?: (page: any) => void, checks?: boolean, action?: string}>}
 */
const STEPS = {
  language: {
    render: () => [radios('language', t('setupTitles').language, [
      { value: 'en', title: 'English', lang: 'en' },
      { value: 'zh', title: '中文', lang: 'zh-CN' },
    ], setup.answers.language || language(), (value) => setup.change({ language: value })), hint(t('setupLanguageAbout'))],
    take(page) {
      const chosen = setup.answers.language || language();
      setup.change({ language: chosen });
      if (chosen === language()) return true;
      // The page is built again in the other language, at the step that follows.
      setup.change({ step: page.steps[page.steps.indexOf('language') + 1] });
      $('language-toggle').click();
      return false;
    },
    skip: () => setup.change({ language: '' }),
  },
  provider: {
    render: (page) => [hint(t('setupProviderAbout')), radios('provider', t('setupTitles').provider, [
      ...page.offer.providers.map(({ id, title, model }) => ({ value: id, title, about: model })),
      { value: 'offline', title: t('setupOffline'), about: t('setupOfflineAbout') },
    ], setup.answers.provider || 'openai', (value) => choose(page, value))],
    take: (page) => choose(page, setup.answers.provider || 'openai'),
    skip: (page) => choose(page, 'offline'),
  },
  key: {
    checks: true,
    action: 'setupTest',
    render(page) {
      const { provider } = page;
      if (!provider) return [];
      const { baseUrl } = setup.answers;
      const address = provider.baseUrl && provider.needsKey ? [] : [field('address', t('setupAddress'), baseUrl || provider.baseUrl,
        (value) => setup.change({ baseUrl: value }), { type: 'url', inputmode: 'url', placeholder: 'http://127.0.0.1:11434/v1' })];
      const hints = provider.keyIn ? [t('setupKeyIn', { name: provider.keyIn })]
        : provider.keysAt ? [t('setupKeyAt'), ' ', link(provider.keysAt)] : [t('setupKeyMaybe')];
      return [...address, field('key', provider.baseUrl ? t('setupKey', { name: provider.title }) : t('setupKeyOther'), setup.secret('key'),
        (value) => setup.keepSecret('key', value), { type: 'password' }, ...hints), hint(t('setupKeyAbout'))];
    },
    async take(page, anyway) {
      if (anyway) return true;
      const { provider } = page;
      const known = setup.answers.model || provider.model;
      // A server that is not in the table is asked for its list, with a call that may fail.
      if (!known) setup.change({ model: 'gpt-6-luna' });
      let fine;
      try {
        fine = await page.check();
      } finally {
        if (!known) setup.change({ model: '' });
      }
      const { trouble, models } = page.checked;
      return fine || (trouble.kind === 'bad-request' && (models.length > 0 || !known));
    },
    skip: () => {},
  },
  model: {
    checks: true,
    action: 'setupUse',
    render(page) {
      const models = page.checked?.models ?? [];
      const proposed = setup.answers.model || page.provider?.model || '';
      const first = models.length && !models.includes(proposed) ? models[0] : proposed;
      setup.change({ model: first });
      if (!models.length) {
        return [field('model', t('setupModel'), first, (value) => setup.change({ model: value }), {}, t('setupNoList'))];
      }
      const typed = field('model', t('setupModelOther'), models.includes(first) ? '' : first, (value) => setup.change({ model: value || list.value }));
      const list = /** @type {HTMLSelectElement} */ (h('select', { class: 'scope', id: 'setup-models', 'data-testid': 'setup-models', onchange: () => setup.change({ model: list.value }) },
        models.map((id) => h('option', { value: id, text: id, selected: id === first }))));
      return [h('div', { class: 'field' }, h('label', { for: 'setup-models', text: t('setupModels', { count: models.length }) }), list), typed];
    },
    async take(page, anyway) {
      const { checked } = page;
      if (anyway || !checked || (checked.model === setup.answers.model && !checked.trouble)) return true;
      const { models } = checked;
      const fine = await page.check();
      page.checked.models = page.checked.models.length ? page.checked.models : models;
      return fine;
    },
    skip: () => setup.change({ model: '' }),
  },
  agent: {
    render: () => [
      field('name', t('setupName'), setup.answers.name, (value) => setup.change({ name: value }), { maxlength: '80' }),
      field('purpose', t('setupPurpose'), setup.answers.purpose, (value) => setup.change({ purpose: value }), { rows: '3', maxlength: '2000' }, t('setupPurposeAbout')),
    ],
    skip: () => setup.change({ purpose: '' }),
  },
  platform: {
    checks: true,
    action: 'setupFinish',
    render: (page) => [
      hint(t('setupPlatformAbout')),
      radios('platform', t('setupTitles').platform, [
        { value: '', title: t('setupPlatformNone') },
        ...page.offer.platforms.map(({ name, title }) => ({ value: name, title: language() === 'zh' ? channelName(name) : title })),
      ], setup.answers.platform, (value) => {
        setup.change({ platform: value });
        page.go('platform');
        page.content.querySelector('input:checked')?.focus();
      }),
      ...[t('setupPlatformHint')[setup.answers.platform]].filter(Boolean).map(hint),
      ...page.keys.map(({ key, label, secret, default: proposed }) => {
        const name = `${setup.answers.platform}.${key}`;
        return field(key, label, setup.secret(name) || proposed, (value) => setup.keepSecret(name, value), secret ? { type: 'password' } : {});
      }),
    ],
    async take(page, anyway) {
      const choice = platformChoice(page.keys);
      if (anyway || !choice) return true;
      page.say([{ level: 'wait', message: t('setupAskingPlatform') }]);
      try {
        const { ok, findings } = await api.checkPlatform(choice);
        page.say(findings);
        return ok;
      } catch (error) {
        page.say([]);
        throw error;
      }
    },
    skip: () => setup.change({ platform: '' }),
  },
  owner: {
    action: 'setupPair',
    render: () => [hint(t('setupOwnerAbout')), field('code', t('codeLabel'), '', (value) => setup.keepCode(value),
      { type: 'text', autocapitalize: 'characters', maxlength: '24' })],
    take: () => api.letIn(setup.secret('code'), 'owner'),
    skip: () => {},
  },
  done: {
    action: 'setupStart',
    render: () => [h('ul', { class: 'setup-next' }, Object.values(t('setupNextSteps')).map((text) => h('li', { text })))],
    take() {
      setup.end();
      location.hash = '#/';
    },
  },
};

function choose(page, provider) {
  if (provider !== setup.answers.provider) {
    page.checked = null;
    setup.keepSecret('key', '');
    setup.change({ provider, baseUrl: '', model: '' });
  }
}
