// The answers of the onboarding in this tab: they survive a reload, another language and the daemon's
// start with the new configuration. Keys and tokens are kept in memory only.

import { tabStore } from './dom.js';

const ENTRY = 'onboarding';

const blank = () => ({
  /** The steps of the daemon's offer, by name. */
  steps: /** @type {string[]} */ ([]),
  step: 'language',
  language: '',
  provider: '',
  baseUrl: '',
  model: '',
  name: '',
  purpose: '',
  platform: '',
  /** The fields of keys and tokens that were filled in. After a reload their values are missing. */
  given: /** @type {string[]} */ ([]),
  /** Whether the files are written. */
  applied: false,
});

function stored() {
  try {
    return { ...blank(), ...JSON.parse(tabStore.get(ENTRY) ?? '{}') };
  } catch {
    return blank();
  }
}

let answers = stored();

/** Keys and tokens by field. */
const secrets = new Map();

export const setup = {
  get answers() {
    return answers;
  },

  change(values) {
    answers = { ...answers, ...values };
    tabStore.set(ENTRY, JSON.stringify(answers));
  },

  secret: (field) => secrets.get(field) ?? '',

  keepSecret(field, value) {
    secrets.set(field, value);
    const others = answers.given.filter((known) => known !== field);
    setup.change({ given: value ? [...others, field] : others });
  },

  /** The step at which a key or token was given that this page no longer has; null where there is none. */
  get lost() {
    const lost = answers.given.filter((field) => !secrets.get(field));
    if (lost.includes('key') && answers.provider !== 'offline') return 'key';
    return answers.platform && lost.some((field) => field.startsWith(`${answers.platform}.`)) ? 'platform' : null;
  },

  /** A pairing code is asked for where it is used. */
  keepCode: (value) => secrets.set('code', value),

  /** Forgets everything. */
  end() {
    answers = blank();
    secrets.clear();
    tabStore.set(ENTRY, null);
  },
};

/** The choice of a model as the daemon reads it; null for the built-in one. */
export function modelChoice() {
  const { provider, baseUrl, model } = answers;
  if (!provider || provider === 'offline') return null;
  const given = (value) => (value ? value : undefined);
  return { provider, baseUrl: given(baseUrl), model: given(model), key: given(setup.secret('key')) };
}

/** The choice of a platform; null for none. `keys` are those of the offer. */
export function platformChoice(keys) {
  const { platform } = answers;
  if (!platform) return null;
  const values = keys.map(({ key }) => ({ key, value: setup.secret(`${platform}.${key}`) })).filter(({ value }) => value);
  return { name: platform, values };
}
