// How bad input is refused: what was given, cut, and what was wanted.
import { SynclineError } from '@syncline/kernel';
import type { JobsLimitName } from '../limits.js';

const SHOWN_LENGTH_MAX = 64;

/** The request itself is wrong. */
export function invalidArgument(field: string, value: unknown, wanted: string): SynclineError {
  return new SynclineError('invalid-argument', `${field} is ${shown(value)}; wanted: ${wanted}`, {
    details: { field },
  });
}

export function refuseUnless(
  condition: boolean,
  field: string,
  { value, wanted }: { readonly value: unknown; readonly wanted: string },
): asserts condition {
  if (!condition) throw invalidArgument(field, value, wanted);
}

/** What stands for several values by name: a scope, labels, the sizes of a buffer. */
export function checkObject(value: unknown, field: string): object {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  refuseUnless(isObject, field, { value, wanted: 'an object' });
  return value;
}

/** A named limit would be passed. */
export function limitExceeded(limit: JobsLimitName, message: string): SynclineError {
  return new SynclineError('limit-exceeded', message, { details: { limit } });
}

/** A value for people: short, on one line, never an error itself. */
function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return cut(JSON.stringify(value.slice(0, SHOWN_LENGTH_MAX + 1)));
    case 'number':
    case 'boolean':
    case 'undefined':
    case 'bigint':
      return cut(String(value));
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? `a list of ${value.length}` : 'an object';
    default:
      return `a ${typeof value}`;
  }
}

function cut(text: string): string {
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
}
