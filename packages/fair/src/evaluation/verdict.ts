// How fairly and how fully a resource was used: one run, or the mean of several.
//
// A client's share is its part of the available capacity under max-min division. Over a whole run that hides a
// client that got nothing for a minute and was compensated later; the windowed index does not.
import type { ClientClass } from './scenario.js';
import type { Tally, Usage } from './tally.js';

export interface Verdict {
  readonly requests: number;
  readonly successes: number;
  /** Admitted although there was no token. */
  readonly failures: number;
  readonly throttled: number;
  /** Jain's index of successes over entitlement, per client. */
  readonly jain: number;
  /** The mean of that index over windows of 30 s. */
  readonly jain30: number;
  /** Successes over available capacity: 1 when nothing was wasted. */
  readonly used: number;
  /** The lowest of the clients' successes over entitlement. */
  readonly worst: number;
  /** Requests that were admitted and failed, per request that was served. */
  readonly failuresPerSuccess: number;
  /** By how much the index of the 30 s after a rotation is below that of the rest, if known. */
  readonly rotationDip?: number;
}

const WINDOW_SECONDS = 30;

export function judge(tally: Tally): Verdict {
  const { scenario, failures, throttled } = tally;
  const { durationSeconds, capacityPerSecond } = scenario;
  const usage = tally.total();
  const available = capacityPerSecond * (durationSeconds + 1); // the bucket starts full
  const ratios = ratiosOf(usage, available);
  const requests = sum(usage.wants);
  const successes = sum(usage.gains);
  return {
    requests,
    successes,
    failures,
    throttled,
    jain: jainIndex(ratios),
    jain30: windowedJain(tally),
    used: successes / Math.min(available, requests),
    worst: Math.min(...ratios),
    failuresPerSuccess: failures / successes,
    ...given(rotationDip(tally)),
  };
}

/** Of a part of the run, in which the bucket was never full. */
export interface PartVerdict {
  readonly jain: number;
  readonly used: number;
}

/** Both bounds are multiples of 5. Earlier tokens are left out, so `used` may be slightly above 1. */
export function judgePart(tally: Tally, fromSeconds: number, toSeconds: number): PartVerdict {
  const usage = tally.between(fromSeconds, toSeconds);
  const available = tally.scenario.capacityPerSecond * (toSeconds - fromSeconds);
  return {
    jain: jainIndex(ratiosOf(usage, available)),
    used: sum(usage.gains) / Math.min(available, sum(usage.wants)),
  };
}

/** Field by field. There is at least one. */
export function meanVerdict(verdicts: readonly Verdict[]): Verdict {
  const mean = (field: Exclude<keyof Verdict, 'rotationDip'>) =>
    sum(verdicts.map((verdict) => verdict[field])) / verdicts.length;
  const dips = verdicts.flatMap((verdict) => verdict.rotationDip ?? []);
  return {
    requests: mean('requests'),
    successes: mean('successes'),
    failures: mean('failures'),
    throttled: mean('throttled'),
    jain: mean('jain'),
    jain30: mean('jain30'),
    used: mean('used'),
    worst: mean('worst'),
    failuresPerSuccess: mean('failuresPerSuccess'),
    ...given(dips.length === 0 ? undefined : sum(dips) / dips.length),
  };
}

function given(dip: number | undefined): Pick<Verdict, 'rotationDip'> {
  return dip === undefined ? {} : { rotationDip: dip };
}

/**
 * The rest is cut into windows too, from the rotation backwards and onwards. The first 30 s are left out,
 * in which a tracker learns, and scenarios whose clients come and go.
 */
function rotationDip(tally: Tally): number | undefined {
  const { rotatedAtSeconds = Number.POSITIVE_INFINITY, scenario } = tally;
  const last = scenario.durationSeconds - WINDOW_SECONDS;
  if (rotatedAtSeconds > last || scenario.classes.some(isPassing)) return undefined;
  const rotation = Math.floor(rotatedAtSeconds / 5) * 5;
  const jainFrom = (from: number) => judgePart(tally, from, from + WINDOW_SECONDS).jain;
  const others: number[] = [];
  for (let from = rotation % WINDOW_SECONDS; from <= last; from += WINDOW_SECONDS)
    if (from >= WINDOW_SECONDS && from !== rotation) others.push(jainFrom(from));
  if (rotation < WINDOW_SECONDS || others.length === 0) return undefined;
  return sum(others) / others.length - jainFrom(rotation);
}

function isPassing({ fromSeconds, toSeconds }: ClientClass): boolean {
  return fromSeconds !== undefined || toSeconds !== undefined;
}

function windowedJain(tally: Tally): number {
  const { durationSeconds, capacityPerSecond } = tally.scenario;
  const indices = tally.windows(WINDOW_SECONDS).map((usage, window) => {
    const seconds = Math.min(WINDOW_SECONDS, durationSeconds - window * WINDOW_SECONDS);
    const available = capacityPerSecond * (window === 0 ? seconds + 1 : seconds);
    return jainIndex(ratiosOf(usage, available));
  });
  return sum(indices) / indices.length;
}

/** Clients that are entitled to nothing are left out. */
function ratiosOf({ wants, gains }: Usage, available: number): number[] {
  const shares = maxMinShares(Math.min(available, sum(wants)), wants);
  return shares.flatMap((share, client) => (share > 0 ? [(gains[client] ?? 0) / share] : []));
}

// How fair a division was: what each client got, divided by what it was entitled to.

/** Max-min: no one gets more than they want, and the rest is shared by the others. */
export function maxMinShares(amount: number, wants: readonly number[]): number[] {
  const shares = new Array<number>(wants.length).fill(0);
  const poorestFirst = wants
    .map((want, index) => ({ want, index }))
    .sort((left, right) => left.want - right.want);
  let left = amount;
  for (const [rank, { want, index }] of poorestFirst.entries()) {
    const share = Math.min(want, left / (wants.length - rank));
    shares[index] = share;
    left -= share;
  }
  return shares;
}

/** Jain's index: 1 when all are equal, 1/n when one has everything. */
function jainIndex(values: readonly number[]): number {
  return sum(values) ** 2 / (values.length * sum(values.map((value) => value * value)));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
