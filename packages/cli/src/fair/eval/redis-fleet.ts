// Fleets that share state through a real Redis. Its script uses the simulated time; network operations take real time.
import { randomUUID } from 'node:crypto';
import type { FairRemote } from '@syncline/fair';
import { redisRemote } from '@syncline/fair/redis';
import { type FleetSettings, type OpenFleet, openLockstepFleet } from '@syncline/fair/testing';
import { type Clock, createSystemClock, SynclineError } from '@syncline/kernel';
import { waitUntil } from './wait-until.js';

/** Each run uses its own tracker name; its keys expire after three windows, that is, 15 minutes. */
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

/** Simulated time with real timers. */
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

/** Names only host and port, because the URL may contain a password. */
export function cannotShare(url: string, cause: unknown): SynclineError {
  const { host } = new URL(url);
  const reason = cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause);
  const text = `cannot share through Redis at ${host} (${reason}). Check that it is running, is version 6.2 or newer, and accepts the user and password in --redis-url.`;
  return new SynclineError('unavailable', text, { cause });
}
