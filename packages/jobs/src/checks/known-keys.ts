// Names that nobody reads are mistakes: `ttl` for `ttlMs` must not leave the default in place without a word.
// The compiler sees them only where an object is written out, and never in JavaScript.
import { SynclineError } from '@syncline/kernel';
import { checkObject } from './refuse.js';

const SHOWN_LENGTH_MAX = 64;

/** The keys of a type, as a record so that the compiler knows of each that is missing. */
export type KnownKeys<T> = Readonly<Record<keyof T, true>>;

/** `what` is how the error calls the object: «options». */
export function checkKnownKeys<T extends object>(
  value: T,
  what: string,
  known: KnownKeys<T>,
): void {
  for (const key of Object.keys(checkObject(value, what))) {
    if (Object.hasOwn(known, key)) continue;
    const shown = JSON.stringify(key.slice(0, SHOWN_LENGTH_MAX));
    throw new SynclineError(
      'invalid-argument',
      `unknown option ${shown} in ${what}; expected one of: ${Object.keys(known).join(', ')}`,
      { details: { field: key.slice(0, SHOWN_LENGTH_MAX) } },
    );
  }
}
