// Fleets that share through a real Redis. Its script is given the evaluation's time; what waits for the
// network waits in real time.
import { randomUUID } from 'node:crypto';
import type { FairRemote } from '@syncline/fair';
import { redisRemote } from '@syncline/fair/redis';
import { type FleetSettings, type OpenFleet, openLockstepFleet } from '@syncline/fair/testing';
import { type Clock, createSystemClock, SynclineError } from '@syncline/kernel';
import { waitUntil } from './wait-until.js';

/** Each run has its own name; its keys expire after three windows, a quarter of an hour. */
export function redisFleets(url: string): OpenFleet {
  return async (settings) => {
    const tracker = `eval-${randomUUID()}`;
    const clock = networkClock(settings);
    const redis = redisRemote({ url, tracker, scriptNowMs: () => clock.nowMs() });
    const remote: FairRemote = {
      ...redis,
      createTransport: (deps) => redis.createTransport({ ...deps, clock }),
    };
    return openLockstepFleet({ remote, waitUntil, close: async () => {} }, settings).catch(
      (cause: unknown) => {
        throw cannotShare(url, cause);
      },
    );
  };
}

/** Shows the evaluation's time; its timers are those of the world. */
function networkClock({ clock }: FleetSettings): Clock {
  const system = createSystemClock();
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (ms, signal) => system.sleep(ms, signal),
    setTimer: (ms, callback, options) => system.setTimer(ms, callback, options),
    defer: (callback) => system.defer(callback),
  };
}

/** The URL may hold a password: host and port are enough. */
export function cannotShare(url: string, cause: unknown): SynclineError {
  const { host } = new URL(url);
  const reason = cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause);
  const text = `cannot share through Redis at ${host} (${reason}). Check that it is running, is version 6.2 or newer, and accepts the user and password in --redis-url.`;
  return new SynclineError('unavailable', text, { cause });
}
