// Suggests the known name that a mistyped one probably stands for.
//
// Names with missing words match first: `auth.token` is `auth.token_file`, `port` is `http.port`. Otherwise
// the edit distance decides: inserted, removed, replaced and swapped adjacent letters. Above a third of the
// name's length a suggestion would be misleading, so none is made. A prefix that all names share, such as
// `--`, is ignored.
import { SynclineError } from './error.js';

export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const names = [...known];
  const start = commonStart([name, ...names]);
  const rest = name.slice(start);
  const rests = names.map((candidate) => candidate.slice(start));
  const longer = rests.find((candidate) => lacksWordsOf(rest, candidate));
  const nearest = longer ?? closestName(rest, rests, Math.max(1, Math.floor(rest.length / 3)));
  return nearest === undefined ? undefined : names[rests.indexOf(nearest)];
}

function commonStart([first = '', ...others]: readonly string[]): number {
  let length = 0;
  while (length < first.length && others.every((other) => other[length] === first[length]))
    length += 1;
  return length;
}

function lacksWordsOf(name: string, whole: string): boolean {
  if (name === '') return false;
  const [short, long] = [name.toLowerCase(), whole.toLowerCase()];
  return ['.', '_', '-'].some(
    (mark) => long.startsWith(short + mark) || long.endsWith(mark + short),
  );
}

function closestName(
  name: string,
  known: readonly string[],
  distanceMax: number,
): string | undefined {
  let closest: string | undefined;
  let least = distanceMax + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [closest, least] = [candidate, distance];
  }
  return closest;
}

/** ` Did you mean "http.port"?`, or nothing. */
export function suggestion(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
}

/** The names of the options of a type. A record, so that the compiler reports a missing one. */
export type OptionNames<Options> = Readonly<Record<keyof Options, unknown>>;

const SHOWN_LENGTH_MAX = 64;

/**
 * Rejects unknown options: `ttl` instead of `ttlMs` must not silently leave the default in place. The compiler
 * reports them only in object literals, and never in JavaScript. `where` names the object in the error.
 */
export function refuseUnknownOptions(options: object, where: string, known: object): void {
  for (const key of Object.keys(options)) {
    if (Object.hasOwn(known, key)) continue;
    const names = Object.keys(known);
    const field = key.slice(0, SHOWN_LENGTH_MAX);
    const hint = suggestion(field, names) || ` Expected one of: ${names.join(', ')}.`;
    const message = `unknown option ${JSON.stringify(field)} of ${where}.${hint}`;
    throw new SynclineError('invalid-argument', message, { details: { field } });
  }
}

/** Counts swapped adjacent letters as one step, which fastest-levenshtein and its like do not. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      const replaced = at(last, column - 1) + (same ? 0 : 1);
      const inserted = at(current, column - 1) + 1;
      const removed = at(last, column) + 1;
      const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = row > 1 && column > 1 && isSwap ? at(beforeLast, column - 2) + 1 : replaced;
      current.push(Math.min(replaced, inserted, removed, swapped));
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
