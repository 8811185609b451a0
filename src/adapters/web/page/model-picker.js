// Which model answers the open conversation, under the agent's name: a text, or a choice where there are
// several models.

import { api } from './api.js';
import { h, setAttr, setText } from './dom.js';
import { t } from './strings.js';

export class ModelPicker {
  /** `told(words)` shows what was done. */
  constructor(place, told) {
    this.place = place;
    this.told = told;
    this.threadId = '';
    /** @type {any} the models and the chosen one, or null until the daemon answered */
    this.models = null;
    this.info = null;
    this.select = h('select', { class: 'model-choice', 'data-testid': 'model-choice', onchange: () => this.choose() });
  }

  /** Shows the model of a conversation. */
  async look(threadId) {
    const other = threadId !== this.threadId;
    this.threadId = threadId;
    if (other) this.models = null;
    this.render();
    await this.load();
  }

  /** Asks for the models of the conversation, where there are several. */
  async load() {
    const { threadId } = this;
    if (!threadId || !this.info?.selectable) return;
    try {
      const models = await api.models(threadId);
      if (threadId === this.threadId) this.models = models;
    } catch {
      // Without an answer the default model is named.
    }
    this.render();
  }

  async choose() {
    const { threadId } = this;
    const { value } = this.select;
    try {
      this.models = await api.chooseModel(threadId, value === '' ? null : value);
      this.told(t('modelChosen', { name: this.select.selectedOptions[0].text }));
    } catch (error) {
      this.told(error.message || t('offline'));
    }
    this.render();
  }

  /** The daemon's own model, where no conversation has one. */
  tell(info) {
    const selectable = this.info?.selectable;
    this.info = info?.model ?? null;
    this.render();
    if (this.info?.selectable && !selectable) this.load();
  }

  render() {
    const { models, info, select } = this;
    if (!models?.models?.length) {
      setText(this.place, models?.default ?? info?.name ?? '');
      setAttr(this.place, 'title', info?.provider && info?.name ? `${info.provider} / ${info.name}` : null);
      this.shown = '';
      return;
    }
    const key = JSON.stringify([models, t('modelLabel')]);
    if (this.shown === key) return;
    this.shown = key;
    setAttr(select, 'aria-label', t('modelLabel'));
    const option = (value, words) => h('option', { value, text: words, selected: value === (models.chosen ?? '') });
    select.replaceChildren(
      option('', t('modelDefault', { model: models.default })),
      ...models.models.map(({ name, model }) => option(name, `${name} (${model})`)));
    if (select.parentElement !== this.place) this.place.replaceChildren(select);
  }
}
