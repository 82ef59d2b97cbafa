// How a store beyond this process may be told to come back after it was lost.
import { RECONNECT_DEFAULTS, type ReconnectOptions } from '../reconnect.js';
import { checkInteger } from './numbers.js';
import { checkObject } from './refuse.js';

const ATTEMPTS = { min: 1, max: 1_000_000 };
const DAY_MS = 86_400_000;

/** With the defaults filled in, also for what is there and undefined. */
export function checkReconnect(options: ReconnectOptions = {}): Required<ReconnectOptions> {
  checkObject(options, 'reconnect');
  const {
    attempts = RECONNECT_DEFAULTS.attempts,
    initialMs = RECONNECT_DEFAULTS.initialMs,
    maxMs = RECONNECT_DEFAULTS.maxMs,
  } = options;
  return {
    attempts: checkInteger(attempts, 'reconnect.attempts', ATTEMPTS),
    initialMs: checkInteger(initialMs, 'reconnect.initialMs', { min: 1, max: DAY_MS }),
    maxMs: checkInteger(maxMs, 'reconnect.maxMs', { min: 1, max: DAY_MS }),
  };
}
