// What a user may set, and the checked settings that a tracker runs on.
import type { Random } from '@syncline/kernel';
import type { AllowList } from './allow-list.js';
import type { Decay, DecayPolicy } from './decay.js';
import type { Combine } from './flow-table.js';
import { KeyedHash, type KeyHash, keyedSalt, MurmurHash } from './key-hash.js';
import { fairLimits } from './limits.js';
import { type FairShape, type FairTuning, refuseUnless, shapeOf } from './tuning.js';

export interface FairTrackerOptions extends Partial<FairShape> {
  /** `'linear'` is max-min fair, `'exponential'` (default) a soft cap, as in FAIR. */
  readonly policy?: DecayPolicy;
  /** Decay of `exponential`: default 0.01. 0 turns decay off. */
  readonly lambdaPerSecond?: number;
  /** Decay of `linear`: default 0.005. */
  readonly leakPerSecond?: number;
  /** What gives levels, columns, increment and decrement; each can be overridden by itself. */
  readonly tuning?: FairTuning;
  /** How the levels' probabilities become one. Default `'min'`: a neighbour's sins count least. */
  readonly combine?: Combine;
  /** Default 1. Below 1 a blocked flow still gets a request through now and then, to probe. */
  readonly probabilityMax?: number;
  /** After how long flows are hashed anew. Default 300 000 (5 minutes). */
  readonly windowMs?: number;
  /** Default `'keyed'`. `'murmur3'` is FAIR's: slow here, and open to keys made to collide. */
  readonly hash?: 'keyed' | 'murmur3';
  /** At least 16 bytes. Default: random, fit for one process. */
  readonly secret?: string | Uint8Array;
  /** Throttle nobody and say who would have been. Default false. */
  readonly shadow?: boolean;
  readonly allowList?: AllowList;
  /** Adds an explanation to every decision, which then allocates. Default false. */
  readonly explain?: boolean;
}

export interface TrackerSettings {
  readonly shape: FairShape;
  readonly decay: Decay;
  readonly combine: Combine;
  readonly probabilityMax: number;
  readonly windowMs: number;
  readonly hash: KeyHash;
}

/** Throws `invalid-argument`, with `details.field`, for what cannot work. */
export function checkOptions(options: FairTrackerOptions, random: Random): TrackerSettings {
  const { combine = 'min', probabilityMax = 1, windowMs = 300_000 } = options;
  refuseUnless(['min', 'mean'].includes(combine), 'combine', {
    value: combine,
    wanted: "'min' or 'mean'",
  });
  refuseUnless(probabilityMax > 0 && probabilityMax <= 1, 'probabilityMax', {
    value: probabilityMax,
    wanted: 'a number above 0, at most 1',
  });
  const { windowMsMin, windowMsMax } = fairLimits;
  const isWindow = windowMs >= windowMsMin.value && windowMs <= windowMsMax.value;
  refuseUnless(isWindow && Number.isInteger(windowMs), 'windowMs', {
    value: windowMs,
    wanted: `a whole number from ${windowMsMin.value} to ${windowMsMax.value}`,
  });
  return {
    shape: shapeOf(options.tuning ?? {}, options),
    decay: decayOf(options),
    combine,
    probabilityMax,
    windowMs,
    hash: hashOf(options, random),
  };
}

function decayOf(options: FairTrackerOptions): Decay {
  const { policy = 'exponential', lambdaPerSecond = 0.01, leakPerSecond = 0.005 } = options;
  refuseUnless(['exponential', 'linear'].includes(policy), 'policy', {
    value: policy,
    wanted: "'exponential' or 'linear' ('afd' is reserved and not there yet)",
  });
  for (const [field, value] of Object.entries({ lambdaPerSecond, leakPerSecond })) {
    refuseUnless(Number.isFinite(value) && value >= 0, field, {
      value,
      wanted: 'a number per second, 0 or more',
    });
  }
  return { policy, ratePerSecond: policy === 'linear' ? leakPerSecond : lambdaPerSecond };
}

function hashOf(options: FairTrackerOptions, random: Random): KeyHash {
  const { hash = 'keyed' } = options;
  const bytesMin = fairLimits.secretBytesMin.value;
  const secret = Buffer.from(options.secret ?? random.bytes(2 * bytesMin));
  refuseUnless(secret.length >= bytesMin, 'secret', {
    value: `${secret.length} bytes`,
    wanted: `at least ${bytesMin} bytes`,
  });
  refuseUnless(['keyed', 'murmur3'].includes(hash), 'hash', {
    value: hash,
    wanted: "'keyed' or 'murmur3'",
  });
  if (hash === 'keyed') return new KeyedHash(secret);
  return new MurmurHash((seed) => keyedSalt(secret, seed));
}
