// Fetches and validates GET /api/fair: the cells of the state service, and what instances report.
import type { StateServiceFacts } from '@syncline/fair';
import { flag, isDeeper, list, numeric, optional, shape, text } from '../status/answer-shape.js';
import { fetchAnswer } from '../status/fetch-answer.js';
import type { StatusTarget } from '../status/status-target.js';

export interface TopQuery {
  /** Undefined for all trackers. */
  readonly tracker: string | undefined;
  readonly limit: number;
}

export interface FairFacts extends StateServiceFacts {
  /** The most throttled callers first; empty unless instances report them. */
  readonly callers: readonly {
    readonly tracker: string;
    readonly key: string;
    readonly probability: number;
    readonly throttledPerSecond: number;
    readonly instances: number;
  }[];
}

export function fetchFairFacts(target: StatusTarget, query: TopQuery): Promise<FairFacts> {
  const wanted = new URLSearchParams({ limit: String(query.limit) });
  if (query.tracker !== undefined) wanted.set('tracker', query.tracker);
  return fetchAnswer(target, `/api/fair?${wanted.toString()}`, isFacts);
}

function isFacts(body: unknown): body is FairFacts {
  return !isDeeper(body) && factsShape(body);
}

const factsShape = shape({
  streams: numeric,
  streamsMax: numeric,
  trackers: numeric,
  isReachable: flag,
  namespaces: list(
    shape({
      tracker: text,
      config: optional(
        shape({ levels: numeric, columns: numeric, policy: text, ratePerSecond: numeric }),
      ),
      streams: numeric,
      streamsBehind: numeric,
      instances: numeric,
      cells: numeric,
      seeds: list(shape({ seed: text, cells: numeric, idleMs: numeric })),
      highest: list(
        shape({
          seed: text,
          row: numeric,
          column: numeric,
          probability: numeric,
          ageMs: optional(numeric),
        }),
      ),
    }),
  ),
  callers: list(
    shape({
      tracker: text,
      key: text,
      probability: numeric,
      throttledPerSecond: numeric,
      instances: numeric,
    }),
  ),
});
