// The query parameters of a request.
import { SynclineError } from '@syncline/kernel';

/**
 * Refuses repeated ones, too. If they were ignored, `?makr` would permanently delete a job that was meant to be
 * marked, and `?taks=3` would show the whole job as if it were one task.
 */
export function refuseUnknownParameters(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    const isKnown = known.includes(name);
    if (isKnown && query.getAll(name).length === 1) continue;
    const field = name.slice(0, 100);
    const allowed =
      known.length === 0 ? 'none is allowed' : `allowed, each at most once: ${known.join(', ')}`;
    throw new SynclineError(
      'invalid-argument',
      `${isKnown ? 'repeated' : 'unknown'} parameter ${JSON.stringify(field)}; ${allowed}.`,
      { details: { field } },
    );
  }
}

/** Undefined without the parameter. */
export function integerParameter(
  query: URLSearchParams,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new SynclineError(
    'invalid-argument',
    `${name} is ${JSON.stringify(text.slice(0, 100))}; expected an integer from ${min} to ${max}.`,
    { details: { field: name } },
  );
}
