// The exit codes of the `syncline` command, and which one an error ends with.
import type { SynclineError } from '@syncline/kernel';
import { ERROR_TABLE } from './error-table.js';

export const EXIT_CODES = {
  0: 'ok',
  1: 'failure',
  2: 'usage: a flag, a value or the configuration is wrong',
  3: 'unreachable: no server answered',
  4: 'not found',
  5: 'conflict: someone else holds it, or it exists in another form',
  6: 'outcome unknown: it was sent and may have been applied',
} as const;

export type ExitCode = keyof typeof EXIT_CODES;

/** A script must not take "maybe applied" for "failed", whatever the code was. */
export function exitCodeOf(error: SynclineError): ExitCode {
  return error.outcome === 'unknown' ? 6 : ERROR_TABLE[error.code].exit;
}
