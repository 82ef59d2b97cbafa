// The content of a namespace as plain values, for the API and the dashboard. The service knows no keys, only
// cells.
import type { WireTrackerConfig } from '../wire/sync-messages.js';
import { WIRE_HASH, WIRE_POLICY } from '../wire/sync-messages.js';
import type { BroadcastHub } from './broadcast-hub.js';
import type { SeedMirror } from './seed-mirror.js';

export interface NamespaceFacts {
  /** `default` for the namespace of clients without a hello; no tracker may have that name. */
  readonly tracker: string;
  readonly config: TrackerConfigFacts | undefined;
  readonly epoch: number;
  readonly streams: number;
  readonly streamsBehind: number;
  readonly instances: number;
  readonly cells: number;
  readonly seeds: readonly SeedFacts[];
  readonly highest: readonly CellFacts[];
}

/** The key check is left out: it helps to guess a secret. */
export interface TrackerConfigFacts {
  readonly levels: number;
  readonly columns: number;
  readonly policy: string;
  readonly ratePerSecond: number;
  readonly windowMs: number;
  readonly hash: string;
  readonly increment: number;
  readonly decrement: number;
}

export interface SeedFacts {
  /** A number of up to 20 digits, as text. */
  readonly seed: string;
  readonly cells: number;
  readonly idleMs: number;
}

export interface CellFacts {
  readonly seed: string;
  readonly row: number;
  readonly column: number;
  readonly probability: number;
  /** Time since its last change; undefined in the default tracker. */
  readonly ageMs: number | undefined;
}

export interface DescribedNamespace {
  readonly name: string;
  readonly config: WireTrackerConfig | undefined;
  readonly hub: BroadcastHub;
}

export function describeHub(
  { name, config, hub }: DescribedNamespace,
  limit: number,
  nowMs: number,
): NamespaceFacts {
  const mirrors = [...hub.mirrors.values()];
  return {
    tracker: name,
    config: config && configFacts(config),
    epoch: hub.epoch,
    streams: hub.streamsCount,
    streamsBehind: hub.behindCount,
    instances: hub.activeInstances,
    cells: mirrors.reduce((sum, mirror) => sum + mirror.cellsCount, 0),
    seeds: mirrors.map(({ seed, cellsCount, changedAtMs }) => ({
      seed: String(seed),
      cells: cellsCount,
      idleMs: nowMs - changedAtMs,
    })),
    highest: highestCells(mirrors, limit, nowMs),
  };
}

function configFacts(config: WireTrackerConfig): TrackerConfigFacts {
  const { levels, columns, ratePerSecond, windowMs, increment, decrement } = config;
  const policy = config.policy === WIRE_POLICY.linear ? 'linear' : 'exponential';
  const hash = config.hash === WIRE_HASH.murmur3 ? 'murmur3' : 'keyed';
  return { levels, columns, policy, ratePerSecond, windowMs, hash, increment, decrement };
}

/** Keeps no more than `limit` at a time: a tracker may have a quarter of a million cells. */
function highestCells(
  mirrors: readonly SeedMirror[],
  limit: number,
  nowMs: number,
): readonly CellFacts[] {
  const highest: CellFacts[] = [];
  if (limit < 1) return highest;
  for (const mirror of mirrors) {
    const { seed } = mirror;
    for (let slot = mirror.nextListed(0, nowMs); slot !== -1; ) {
      const probability = mirror.probabilityAt(slot, nowMs);
      if (highest.length < limit || probability > (highest.at(-1)?.probability ?? 0)) {
        const place = highest.findLastIndex((cell) => cell.probability >= probability) + 1;
        const { row, column } = mirror.placeOf(slot);
        const ageMs = mirror.ageMsAt(slot, nowMs);
        highest.splice(place, 0, { seed: String(seed), row, column, probability, ageMs });
        if (highest.length > limit) highest.pop();
      }
      slot = mirror.nextListed(slot + 1, nowMs);
    }
  }
  return highest;
}
