// Refuses unknown and repeated query parameters. If they were ignored, `?makr` would permanently delete a job that was
// meant to be marked, and `?taks=3` would show the whole job as if it were one task.
import { SynclineError } from '@syncline/kernel';

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
