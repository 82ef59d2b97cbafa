// `redisRemote`: a tracker that shares its state through Redis alone, without a server of ours.
//
// Each instance runs its own state service on top of Redis, with a single stream. So instances over
// Redis, services over Redis and clients of those services follow one set of rules, and can be mixed.
import type { FairRemote } from '../client/fair-remote.js';
import { refuseUnless } from '../tuning.js';
import { checkSource, checkTrackerName, type RedisSource } from './redis-client.js';
import { RedisTransport } from './redis-transport.js';

export type RedisRemoteOptions = RedisSource & {
  /** The name under which instances share state: 1 to 64 letters, digits or `._@-`. */
  readonly tracker: string;
  /** How changes of others arrive. Default `pubsub`; `poll` is for a Redis that forbids subscriptions. */
  readonly fanOut?: 'pubsub' | 'poll';
  /** Polling interval for `poll`: changes by others are seen up to this much later. Default 1000. */
  readonly pollIntervalMs?: number;
  /** Instead of the time of Redis, in whole ms: for evaluations that bring their own clock. */
  readonly scriptNowMs?: () => number;
};

/** The option `remote` of a tracker. Throws `invalid-argument`, with `details.field`. */
export function redisRemote(options: RedisRemoteOptions): FairRemote {
  const { tracker, fanOut = 'pubsub', pollIntervalMs = 1_000 } = options;
  checkSource(options);
  checkTrackerName(tracker);
  refuseUnless(fanOut === 'pubsub' || fanOut === 'poll', 'fanOut', {
    value: fanOut,
    wanted: "'pubsub' or 'poll'",
  });
  refuseUnless(pollIntervalMs >= 10 && pollIntervalMs <= 60_000, 'pollIntervalMs', {
    value: pollIntervalMs,
    wanted: '10 to 60,000 ms',
  });
  return {
    tracker,
    wire: 'named',
    createTransport: (deps) => new RedisTransport(deps, { ...options, fanOut, pollIntervalMs }),
  };
}
