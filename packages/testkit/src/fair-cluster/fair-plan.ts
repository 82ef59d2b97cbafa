// The cluster for a seed: the number of clients, their options, and what they report. Small structures
// and short windows, so that flows share cells, windows rotate and old seeds are evicted within a run.
import type { DecayPolicy } from '@syncline/fair';
import type { SeededRandom } from '@syncline/kernel/testing';

export interface FairPlan {
  readonly clients: readonly ClientPlan[];
  readonly store: 'memory' | 'embedded';
  readonly service: {
    readonly broadcastIntervalMs: number;
    readonly broadcastBudgetCells: number;
    readonly defaultWindowMs: number;
  };
  /** Messages in flight before a stream is full. */
  readonly windowMessages: number;
  readonly runMs: number;
  /** Skew of the service's wall clock. */
  readonly skewMs: number;
}

export interface ClientPlan {
  readonly node: string;
  /** '' for the original contract. */
  readonly tracker: string;
  readonly shape: TrackerShape;
  readonly flushIntervalMs: number;
  readonly retryBudgetMs: number;
  readonly outageGain: boolean;
  readonly skewMs: number;
  /** Fraction of the outcomes that are successes. 0: only decay lowers a cell. */
  readonly successPart: number;
  readonly betweenMs: number;
}

/** What instances of a tracker have in common. */
export interface TrackerShape {
  readonly policy: DecayPolicy;
  readonly ratePerSecond: number;
  readonly levels: number;
  readonly columns: number;
  readonly increment: number;
  readonly decrement: number;
  readonly windowMs: number;
  readonly secret: string;
}

export const FLOW_KEYS = Array.from({ length: 8 }, (_, index) => `tenant-${index}`);

const TRACKERS = ['api', 'api', 'api', 'web', ''] as const;
const SKEW_MS_MAX = 500;

export function planFair(random: SeededRandom): FairPlan {
  const pick = <T>(choices: readonly T[], fallback: T): T =>
    choices[Math.floor(random.float() * choices.length)] ?? fallback;
  const skew = () => Math.round((2 * random.float() - 1) * SKEW_MS_MAX);
  const windowMs = pick([18_000, 20_000, 25_000], 20_000);
  const shapes = new Map(
    [...new Set(TRACKERS)].map((tracker) => [tracker, planShape(random, tracker, windowMs)]),
  );
  const successPart = pick([0, 0, 0.3], 0);
  const clientsCount = 2 + Math.floor(4 * random.float());
  const clients = Array.from({ length: clientsCount }, (_, index): ClientPlan => {
    const tracker = index === 0 ? 'api' : pick(TRACKERS, 'api');
    return {
      node: `c${index + 1}`,
      tracker,
      shape: shapes.get(tracker) ?? planShape(random, tracker, windowMs),
      flushIntervalMs: pick([0, 10, 100, 250], 100),
      retryBudgetMs: pick([1_000, 5_000, 20_000], 5_000),
      outageGain: random.float() < 0.5,
      skewMs: skew(),
      successPart,
      betweenMs: pick([250, 500, 1_000], 500),
    };
  });
  return {
    clients,
    store: random.float() < 0.4 ? 'embedded' : 'memory',
    service: {
      broadcastIntervalMs: pick([0, 0, 50, 250], 0),
      broadcastBudgetCells: pick([0, 0, 2, 5], 0),
      defaultWindowMs: windowMs,
    },
    windowMessages: pick([1, 2, 8, 64], 8),
    runMs: 20_000 + 50_000 * random.float(),
    skewMs: skew(),
  };
}

function planShape(random: SeededRandom, tracker: string, windowMs: number): TrackerShape {
  const rates = { exponential: [0, 0.01, 0.1], linear: [0, 0.005, 0.02] } as const;
  const policy = random.float() < 0.5 ? 'exponential' : 'linear';
  return {
    policy,
    // The original contract has no decay, so decaying views would differ from the values of the service.
    ratePerSecond: tracker === '' ? 0 : (rates[policy][Math.floor(3 * random.float())] ?? 0),
    levels: 1 + Math.floor(3 * random.float()),
    columns: 4 + Math.floor(9 * random.float()),
    increment: 0.002 + 0.03 * random.float() ** 2,
    decrement: 0.001,
    windowMs,
    secret: `the secret of ${tracker || 'all'}`,
  };
}

/** Cells of both structures of an instance. */
export function cellsMax({ levels, columns }: TrackerShape): number {
  return 2 * levels * columns;
}
