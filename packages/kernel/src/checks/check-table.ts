// Checks options and arguments: a table has one check per member. Bad input is rejected with an error that shows the
// value, truncated, and what was expected.
import { SynclineError } from '../error.js';
import { refuseUnknownOptions } from '../nearest-name.js';

const SHOWN_LENGTH_MAX = 64;

export function invalidArgument(field: string, value: unknown, wanted: string): SynclineError {
  return new SynclineError('invalid-argument', `${field} is ${shown(value)}; expected ${wanted}`, {
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

/** A check for each member of a type. A record, so that the compiler reports a missing one. */
export type Checks<T> = { readonly [Name in keyof T]-?: Check<T[Name]> };

export type Checked<C> = {
  readonly [Name in keyof C]: C[Name] extends Check<infer Value> ? Value : never;
};

/** Returns the value to use, or throws. `field` is its name in errors; by default, its usual name. */
export type Check<T> = (value: unknown, field?: string) => T;

export function checkThat<T>(
  isGood: (value: unknown) => boolean,
  wanted: string,
  name = 'the value',
): Check<T> {
  return (value, field = name) => {
    refuseUnless(isGood(value), field, { value, wanted });
    return value as T;
  };
}

export const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const checkObject = checkThat<object>(isObject, 'an object');
export const checkText = checkThat<string>(isText, 'a string');

/**
 * Checks each member and refuses unknown ones. Returns a copy without members that are undefined. `what` names the
 * object in errors; `prefix` precedes the names of its members.
 */
export function checkMembers<T extends object>(
  value: unknown,
  what: string,
  checks: Checks<T>,
  prefix = '',
): T {
  checkKnownKeys(value, what, checks);
  const given = value as Readonly<Record<string, unknown>>;
  const checked: Record<string, unknown> = {};
  // In this order and without a list of entries: it runs for each write of a job.
  for (const name in checks) {
    const member = checks[name](given[name], prefix === '' ? name : prefix + name);
    if (member !== undefined) checked[name] = member;
  }
  return checked as T;
}

export function members<T extends object>(checks: Checks<T>): Check<T> {
  return (value, field = 'the value') => checkMembers(value, field, checks, `${field}.`);
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, field) => (value === undefined ? undefined : check(value, field));
}

export function orDefault<T>(check: Check<T>, fallback: unknown): Check<T> {
  return (value = fallback, field) => check(value, field);
}

export const oneOf = <Word extends string>(...words: readonly Word[]): Check<Word> =>
  checkThat((value) => words.includes(value as Word), `one of ${words.join(', ')}`);

export const anyValue: Check<never> = (value) => value as never;

export function checkKnownKeys(value: unknown, what: string, known: object): void {
  refuseUnknownOptions(checkObject(value, what), what, known);
}

/** Formats a value for an error message: short, on one line, and never throws. */
function shown(value: unknown): string {
  if (typeof value === 'string') return cut(JSON.stringify(value.slice(0, SHOWN_LENGTH_MAX + 1)));
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  const isNamed = typeof value === 'function' || typeof value === 'symbol';
  return isNamed ? `a ${typeof value}` : cut(String(value));
}

function cut(text: string): string {
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
}

export function checkInteger(
  value: unknown,
  field: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const isGood = Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
  refuseUnless(isGood, field, { value, wanted: `an integer from ${min} to ${max}` });
  return (value as number) + 0; // −0 is 0
}

/** `name` is the usual name of the value in errors. */
export function integer(name: string, min: number, max: number): Check<number> {
  return (value, field = name) => checkInteger(value, field, { min, max });
}

/** Infinity is a number here, NaN is not. */
export function number(name: string, min: number, max: number): Check<number> {
  return (value, field = name) => {
    const isGood = typeof value === 'number' && value >= min && value <= max;
    refuseUnless(isGood, field, { value, wanted: `a number from ${min} to ${max}` });
    return value + 0; // −0 is 0
  };
}
