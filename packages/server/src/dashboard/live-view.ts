// What a slice provides to an open page: views, each with sources that the hub samples and shares.
//
// A source is sampled while at least one page shows it, however many pages do, and encodes each change
// once for all of them. A page that joins, or that fell too far behind, reads the whole picture part by
// part from the source as it is then, so no page keeps a copy of it.
import { SynclineError } from '@syncline/kernel';
import type { RateHistory } from './rate-history.js';

export interface LiveView {
  /** The value of `view` in /api/live. */
  readonly name: string;
  /** Further query parameters that it takes. */
  readonly parameters: readonly string[];
  /** Throws `invalid-argument` for parameters that it cannot use. Starts nothing. */
  open(query: URLSearchParams, deps: LiveViewDeps): LiveSource;
}

export interface LiveViewDeps {
  readonly rates: RateHistory;
}

export interface LiveSource {
  readonly intervalMs: number;
  /** Resolves when there is something to show. Rejects with the reason if there is not. */
  start(): Promise<void>;
  /** What has changed since the last call. Never called twice at once. A rejection ends all pages of the source. */
  sample(): Promise<LiveSample> | LiveSample;
  partsCount(): number;
  /**
   * One part of the whole picture as JSON. All parts together, plus the deltas since the first, are the current
   * state.
   */
  part(index: number): string;
  stop(): void;
}

export type LiveSample =
  | { readonly kind: 'unchanged' }
  /** Every page needs the whole picture again. */
  | { readonly kind: 'replaced' }
  | { readonly kind: 'delta'; readonly json: string };

/** A picture small enough to be sent whole each time it changes. */
export function snapshotSource(intervalMs: number, read: () => unknown): LiveSource {
  let text = 'null';
  const refresh = async (): Promise<boolean> => {
    const before = text;
    text = JSON.stringify(await read());
    return text !== before;
  };
  return {
    intervalMs,
    async start() {
      await refresh();
    },
    async sample() {
      return { kind: (await refresh()) ? 'replaced' : 'unchanged' };
    },
    partsCount: () => 1,
    part: () => text,
    stop() {},
  };
}

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
