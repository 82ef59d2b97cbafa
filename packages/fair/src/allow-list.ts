// Keys that are never throttled and never counted: health checks, an operator's own tools.
import { type Logger, SynclineError } from '@syncline/kernel';
import { type FlowKey, plainKey } from './flow-key.js';
import { fairLimits } from './limits.js';

/** Keys, compared whole, or a function that says whether a key is allowed. */
export type AllowList = readonly FlowKey[] | ((key: FlowKey) => boolean);

/** Never throws, since `register` must not: a predicate that does has not allowed the key. */
export function createAllowTest(list: AllowList, logger: Logger): (key: FlowKey) => boolean {
  if (typeof list === 'function') return guarded(list, logger);
  const { value: keysMax } = fairLimits.allowListKeysMax;
  if (list.length > keysMax) {
    const message = `the allow list has ${list.length} keys; at most ${keysMax} are allowed. Use a predicate instead`;
    const details = { limit: 'allowListKeysMax', field: 'allowList' };
    throw new SynclineError('limit-exceeded', message, { details });
  }
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  const texts = new Set(list.map((key) => (typeof key === 'string' ? key : utf8.decode(key))));
  const bytes = new Set(list.map(latin1Of));
  return (key) => (typeof key === 'string' ? texts.has(key) : bytes.has(latin1Of(plainKey(key))));
}

/** One character per byte, so that different keys stay different. */
function latin1Of(key: FlowKey): string {
  const bytes = typeof key === 'string' ? new TextEncoder().encode(key) : key;
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

function guarded(predicate: (key: FlowKey) => boolean, logger: Logger): (key: FlowKey) => boolean {
  let hasFailed = false;
  const lose = (cause: unknown) => {
    if (!hasFailed) logger.error('the allow list predicate failed; the key is tracked', { cause });
    hasFailed = true;
  };
  return (key) => {
    try {
      const answer: unknown = predicate(key);
      // An async predicate cannot answer in time, and its unhandled rejection would end the process.
      if (answer instanceof Promise) answer.catch(lose);
      return answer === true;
    } catch (cause) {
      lose(cause);
      return false;
    }
  };
}
