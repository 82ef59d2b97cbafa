// The options of a user, and the checked settings of a tracker.
import { type OptionNames, type Random, refuseUnknownOptions } from '@syncline/kernel';
import type { AllowList } from './allow-list.js';
import type { FairRemote } from './client/fair-remote.js';
import type { Decay, DecayPolicy } from './decay.js';
import type { Combine } from './flow-table.js';
import { KeyedHash, type KeyHash, keyedSalt, MurmurHash } from './key-hash.js';
import { fairLimits } from './limits.js';
import { type FairShape, type FairTuning, refuseUnless, shapeOf } from './tuning.js';

export interface FairTrackerOptions extends Partial<FairShape> {
  /**
   * `'linear'` (default) is max-min fair; `'exponential'` is a soft cap, as in the FAIR library, and the default where
   * `lambdaPerSecond` is given.
   */
  readonly policy?: DecayPolicy;
  /** Decay of `exponential`: default 0.01. 0 turns decay off. */
  readonly lambdaPerSecond?: number;
  /** Decay of `linear`: default 0.005. */
  readonly leakPerSecond?: number;
  /** Determines levels, columns, increment and decrement; each can be overridden separately. */
  readonly tuning?: FairTuning;
  /** How the levels' probabilities are combined. Default `'min'`, which is least affected by flows that share cells. */
  readonly combine?: Combine;
  /** Default 1. Below 1, some requests of a blocked flow are still admitted, as probes. */
  readonly probabilityMax?: number;
  /** Interval at which flows are rehashed. Default 300,000 (5 minutes). */
  readonly windowMs?: number;
  /** Default `'keyed'`. `'murmur3'` is FAIR's: slow here, and open to keys made to collide. */
  readonly hash?: 'keyed' | 'murmur3';
  /** At least 16 bytes, the same on all instances that share state. Default: random, without a remote. */
  readonly secret?: string | Uint8Array;
  /** Shadow mode: throttles no request, and reports which ones would have been throttled. Default false. */
  readonly shadow?: boolean;
  readonly allowList?: AllowList;
  /** Adds an explanation to every decision, which then allocates. Default false. */
  readonly explain?: boolean;
  /** Where to share state with other instances: `grpcRemote` or `redisRemote`. Default: not at all. */
  readonly remote?: FairRemote;
  /** How often outcomes are sent, in ms. Default 100; 0 sends immediately, at the cost of more messages. */
  readonly flushIntervalMs?: number;
  /** How long outcomes may wait for an acknowledgement, in ms, before they are dropped. Default 5,000. */
  readonly retryBudgetMs?: number;
  /**
   * Whether outcomes are scaled up while the shared state is unreachable, to make up for those of other
   * instances. Default true.
   */
  readonly outageGain?: boolean;
  /** How long it must have been unreachable, in ms. Default 1,000. */
  readonly gainAfterMs?: number;
}

const TRACKER_OPTIONS: OptionNames<FairTrackerOptions> = {
  policy: true,
  lambdaPerSecond: true,
  leakPerSecond: true,
  tuning: true,
  levels: true,
  columns: true,
  increment: true,
  decrement: true,
  combine: true,
  probabilityMax: true,
  windowMs: true,
  hash: true,
  secret: true,
  shadow: true,
  allowList: true,
  explain: true,
  remote: true,
  flushIntervalMs: true,
  retryBudgetMs: true,
  outageGain: true,
  gainAfterMs: true,
};

export interface TrackerSettings {
  readonly shape: FairShape;
  readonly decay: Decay;
  readonly combine: Combine;
  readonly probabilityMax: number;
  readonly windowMs: number;
  readonly hash: KeyHash;
  /** The value of the metric label `tracker`. */
  readonly label: string;
  /** Undefined for a tracker of one process. */
  readonly shared: RemoteSettings | undefined;
}

export interface RemoteSettings {
  readonly remote: FairRemote;
  readonly secret: Uint8Array;
  readonly hashName: 'keyed' | 'murmur3';
  readonly flushIntervalMs: number;
  readonly retryBudgetMs: number;
  readonly outageGain: boolean;
  readonly gainAfterMs: number;
}

/** Throws `invalid-argument`, with `details.field`, for what cannot work. */
export function checkOptions(options: FairTrackerOptions, random: Random): TrackerSettings {
  refuseUnknownOptions(options, 'createFairTracker', TRACKER_OPTIONS);
  refuseWrongKinds(options);
  const { combine = 'min', probabilityMax = 1, windowMs = 300_000 } = options;
  refuseUnless(['min', 'mean'].includes(combine), 'combine', {
    value: combine,
    wanted: "'min' or 'mean'",
  });
  const isProbability = typeof probabilityMax === 'number' && probabilityMax <= 1;
  refuseUnless(isProbability && probabilityMax > 0, 'probabilityMax', {
    value: probabilityMax,
    wanted: 'a number above 0, at most 1',
  });
  const { windowMsMin, windowMsMax } = fairLimits;
  const isWindow = windowMs >= windowMsMin.value && windowMs <= windowMsMax.value;
  refuseUnless(isWindow && Number.isInteger(windowMs), 'windowMs', {
    value: windowMs,
    wanted: `an integer from ${windowMsMin.value} to ${windowMsMax.value}`,
  });
  const secret = secretOf(options, random);
  const { remote } = options;
  return {
    shape: shapeOf(options.tuning ?? {}, options),
    decay: decayOf(options),
    combine,
    probabilityMax,
    windowMs,
    hash: hashOf(options, secret),
    label: remote === undefined ? 'local' : remote.tracker || 'default',
    shared: remote && remoteOf(remote, options, secret),
  };
}

/** Checked at run time too: in plain JavaScript `shadow: 'no'` would count as true. */
function refuseWrongKinds(options: FairTrackerOptions): void {
  const { shadow = false, explain = false, outageGain = true } = options;
  for (const [field, value] of Object.entries({ shadow, explain, outageGain })) {
    refuseUnless(typeof value === 'boolean', field, { value, wanted: 'true or false' });
  }
  const { allowList = [], secret = '', remote } = options;
  const isKey = (key: unknown) => typeof key === 'string' || key instanceof Uint8Array;
  const isList = Array.isArray(allowList) && allowList.every(isKey);
  refuseUnless(isList || typeof allowList === 'function', 'allowList', {
    value: typeof allowList,
    wanted: 'an array of keys, or a function',
  });
  refuseUnless(isKey(secret), 'secret', { value: typeof secret, wanted: 'text or bytes' });
  refuseUnless(remote === undefined || typeof remote?.createTransport === 'function', 'remote', {
    value: typeof remote,
    wanted: 'the result of grpcRemote or redisRemote',
  });
}

function decayOf(options: FairTrackerOptions): Decay {
  const { lambdaPerSecond = 0.01, leakPerSecond = 0.005 } = options;
  const { policy = options.lambdaPerSecond === undefined ? 'linear' : 'exponential' } = options;
  refuseUnless(['exponential', 'linear'].includes(policy), 'policy', {
    value: policy,
    wanted: "'exponential' or 'linear'",
  });
  for (const [field, value] of Object.entries({ lambdaPerSecond, leakPerSecond })) {
    refuseUnless(Number.isFinite(value) && value >= 0, field, {
      value,
      wanted: 'a number per second, 0 or more',
    });
  }
  return { policy, ratePerSecond: policy === 'linear' ? leakPerSecond : lambdaPerSecond };
}

function hashOf({ hash = 'keyed' }: FairTrackerOptions, secret: Uint8Array): KeyHash {
  refuseUnless(['keyed', 'murmur3'].includes(hash), 'hash', {
    value: hash,
    wanted: "'keyed' or 'murmur3'",
  });
  if (hash === 'keyed') return new KeyedHash(secret);
  return new MurmurHash((seed) => keyedSalt(secret, seed));
}

function secretOf({ secret, remote }: FairTrackerOptions, random: Random): Uint8Array {
  const bytesMin = fairLimits.secretBytesMin.value;
  refuseUnless(secret !== undefined || remote === undefined, 'secret', {
    value: secret,
    wanted: `at least ${bytesMin} bytes, the same on all instances of the remote: instances with different secrets share nothing`,
  });
  const bytes =
    typeof secret === 'string'
      ? new TextEncoder().encode(secret)
      : Uint8Array.from(secret ?? random.bytes(2 * bytesMin));
  refuseUnless(bytes.length >= bytesMin, 'secret', {
    value: `${bytes.length} bytes`,
    wanted: `at least ${bytesMin} bytes`,
  });
  return bytes;
}

function remoteOf(
  remote: FairRemote,
  options: FairTrackerOptions,
  secret: Uint8Array,
): RemoteSettings {
  const { flushIntervalMs = 100, retryBudgetMs = 5_000, gainAfterMs = 1_000 } = options;
  const { timerMsMax } = fairLimits;
  const isTime = (ms: number, least: number) => ms >= least && ms <= timerMsMax.value;
  for (const [field, value] of Object.entries({ flushIntervalMs, gainAfterMs })) {
    refuseUnless(isTime(value, 0), field, {
      value,
      wanted: `a number of ms from 0 to ${timerMsMax.value}`,
    });
  }
  refuseUnless(isTime(retryBudgetMs, 1) && retryBudgetMs > flushIntervalMs, 'retryBudgetMs', {
    value: retryBudgetMs,
    wanted: `a number of ms above the flush interval, ${flushIntervalMs}, up to ${timerMsMax.value}`,
  });
  const { hash: hashName = 'keyed', outageGain = true } = options;
  return { remote, secret, hashName, flushIntervalMs, retryBudgetMs, outageGain, gainAfterMs };
}
