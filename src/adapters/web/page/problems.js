// The words of a problem that the daemon answered with, in the reader's language.

import { language, t } from './strings.js';

// Problems whose kind says everything.
const PLAIN = new Set(['unauthorized', 'timeout', 'body-too-large', 'too-many-requests', 'unavailable', 'storage-full', 'backup-running', 'configured', 'task_changed', 'task_running', 'thread-at-work']);

const CHINESE = /\p{Script=Han}/u;

/**
 * One sentence, with what to do about it. The daemon writes its messages in English, some in the language of the
 * request; the kind of a problem has words in both.
 * @param {{message: string, code?: string, hint?: string}} problem
 */
export function spoken({ message, code, hint }) {
  // A hint of one word is the name of a field, for programs.
  const detail = [message, /\s/.test(hint ?? '') ? hint : ''].filter(Boolean).join(' — ');
  const kind = language() === 'zh' ? t('problems')[code ?? ''] : undefined;
  if (!kind || CHINESE.test(message)) return detail;
  return PLAIN.has(code) ? kind : `${kind}（${detail}）`;
}
