// What a slice provides to an open page: views, each with sources that the hub samples and shares.
//
// A source is sampled only while a page shows it, and encodes each change once for all pages. A page that
// joins, or that has fallen too far behind, reads the full state part by part from the source, so no copies
// are kept per page.
import type { RateHistory } from './rate-history.js';

export interface LiveView {
  /** The value of `view` in /api/live. */
  readonly name: string;
  /** Additional query parameters. */
  readonly parameters: readonly string[];
  /** Throws `invalid-argument` if a parameter is invalid. Starts nothing. */
  open(query: URLSearchParams, deps: LiveViewDeps): LiveSource;
}

export interface LiveViewDeps {
  readonly rates: RateHistory;
}

export interface LiveSource {
  readonly intervalMs: number;
  /** Resolves when the first state is available. Rejects if there is none, with the reason. */
  start(): Promise<void>;
  /** What has changed since the last call. Calls never overlap. A rejection ends all pages of the source. */
  sample(): Promise<LiveSample> | LiveSample;
  partsCount(): number;
  /**
   * One part of the full state, as JSON. All parts, plus the deltas since the first part was read, give the
   * current state.
   */
  part(index: number): string;
  stop(): void;
}

export type LiveSample =
  | { readonly kind: 'unchanged' }
  /** Every page needs the full state again. */
  | { readonly kind: 'replaced' }
  | { readonly kind: 'delta'; readonly json: string };

/** For a state small enough to be sent in full whenever it changes. */
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
