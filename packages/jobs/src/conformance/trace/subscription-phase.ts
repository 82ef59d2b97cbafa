// The phase of a subscription, derived from the events that were delivered. It is used to check streams, not to drive
// them.
//
//   replaying ── synced ──▶ catching up ──▶ live ── overflow ──▶ lagging ──▶ …     any ── stale ──▶ stale
//
// A disconnect is inside a replay exactly in the two phases of a replay: the cursor then ends with `~`.
//
// J22  The table has a cell for each phase and input: what may come, and what must not.
import { unreachable } from '@syncline/kernel';
import type { JobEvent } from '../../job-store.js';

export type SubscriptionPhase =
  | 'replaying'
  /** Replaying, and the store is unreachable. */
  | 'replaying-stale'
  /** After a replay, a resume or a gap: `live` has not been sent since. */
  | 'catching-up'
  | 'live'
  /** The subscriber was too slow: revisions are left out until `live`. */
  | 'lagging'
  | 'stale'
  | 'ended';

export type SubscriptionInput =
  | 'snapshot'
  | 'synced'
  | 'change'
  /** A lease or metadata. */
  | 'other'
  | 'gap-overflow'
  | 'gap-compacted'
  | 'gap-reset'
  | 'gap-deleted'
  | 'stale'
  | 'live'
  /** The loop ended, with or without an error. */
  | 'end';

type Next = SubscriptionPhase | 'refused';

/** Also in a replay: `gap` reset starts it again. */
const ANYWHERE = { 'gap-reset': 'replaying', 'gap-deleted': 'ended', end: 'ended' } as const;
const NO_REPLAY = { snapshot: 'refused', synced: 'refused' } as const;

export const SUBSCRIPTION_TRANSITIONS: Readonly<
  Record<SubscriptionPhase, Readonly<Record<SubscriptionInput, Next>>>
> = {
  replaying: {
    ...ANYWHERE,
    snapshot: 'replaying',
    other: 'replaying',
    synced: 'catching-up',
    change: 'refused',
    'gap-overflow': 'refused',
    'gap-compacted': 'refused',
    stale: 'replaying-stale',
    live: 'replaying',
  },
  'replaying-stale': {
    ...ANYWHERE,
    snapshot: 'replaying-stale',
    other: 'replaying-stale',
    synced: 'stale',
    change: 'refused',
    'gap-overflow': 'refused',
    'gap-compacted': 'refused',
    stale: 'replaying-stale',
    live: 'replaying',
  },
  'catching-up': {
    ...ANYWHERE,
    ...NO_REPLAY,
    change: 'catching-up',
    other: 'catching-up',
    'gap-overflow': 'lagging',
    'gap-compacted': 'lagging',
    stale: 'stale',
    live: 'live',
  },
  live: {
    ...ANYWHERE,
    ...NO_REPLAY,
    change: 'live',
    other: 'live',
    'gap-overflow': 'lagging',
    'gap-compacted': 'lagging',
    stale: 'stale',
    live: 'live',
  },
  lagging: {
    ...ANYWHERE,
    ...NO_REPLAY,
    change: 'lagging',
    other: 'lagging',
    'gap-overflow': 'lagging',
    'gap-compacted': 'lagging',
    stale: 'stale',
    live: 'live',
  },
  stale: {
    ...ANYWHERE,
    ...NO_REPLAY,
    change: 'stale',
    other: 'stale',
    'gap-overflow': 'stale',
    'gap-compacted': 'stale',
    stale: 'stale',
    live: 'live',
  },
  ended: {
    snapshot: 'refused',
    synced: 'refused',
    change: 'refused',
    other: 'refused',
    'gap-overflow': 'refused',
    'gap-compacted': 'refused',
    'gap-reset': 'refused',
    'gap-deleted': 'refused',
    stale: 'refused',
    live: 'refused',
    end: 'ended',
  },
};

export function inputOf(event: JobEvent<unknown>): SubscriptionInput {
  switch (event.kind) {
    case 'snapshot':
    case 'synced':
    case 'change':
    case 'stale':
    case 'live':
      return event.kind;
    case 'lease':
    case 'job':
      return 'other';
    case 'gap':
      return `gap-${event.reason}`;
    default:
      return unreachable(event);
  }
}

/** `refused`: the event must not come in this phase. */
export function nextPhase(phase: SubscriptionPhase, event: JobEvent<unknown>): Next {
  return SUBSCRIPTION_TRANSITIONS[phase][inputOf(event)];
}

/** Whether only part of the replay was seen. Every subscription begins like this, even one that resumes. */
export function isInReplay(phase: SubscriptionPhase): boolean {
  return phase === 'replaying' || phase === 'replaying-stale';
}
