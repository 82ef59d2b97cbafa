// What a seed makes of the node and its clients. Few names and members, so that clients get in each other's
// way; small caches in some runs, so that sets leave memory and commands read through views.
import type { Durability } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';

export interface SetsPlan {
  readonly durability: Durability;
  readonly cacheBytesMax: number;
  /** Not even the sets of one transaction fit into memory at all times. */
  readonly isCacheSmall: boolean;
  readonly clientsCount: number;
  /** Commands that a client sends at once, at most. */
  readonly pipelineMax: number;
  readonly betweenMsMax: number;
  readonly runMs: number;
  /** From a start to an orderly stop, on average; infinite in runs without any. */
  readonly stopAfterMs: number;
  /** Part of the commands that change the class of durability. */
  readonly switchPart: number;
}

export function planSets(random: SeededRandom): SetsPlan {
  const pick = <T>(choices: readonly T[], fallback: T): T =>
    choices[Math.floor(random.float() * choices.length)] ?? fallback;
  const isCacheSmall = random.float() < 0.5;
  return {
    isCacheSmall,
    cacheBytesMax: isCacheSmall ? pick([0, 1_000], 0) : 1_000_000,
    durability: pick(['buffered', 'synced'], 'buffered'),
    clientsCount: pick([1, 2, 3, 4], 3),
    pipelineMax: pick([1, 1, 3, 6], 1),
    betweenMsMax: pick([20, 60, 200], 60),
    runMs: 1_500 + 3_500 * random.float(),
    stopAfterMs: pick([Number.POSITIVE_INFINITY, 3_000, 1_000], 3_000),
    switchPart: pick([0, 0, 0.01, 0.05], 0),
  };
}
