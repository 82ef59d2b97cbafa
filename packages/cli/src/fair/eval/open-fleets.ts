// Opens fleets for each way of sharing state. Redis must be reachable before anything runs, so that a failure is
// reported immediately and not after a minute.
import { once } from 'node:events';
import { connect } from 'node:net';
import { type OpenFleet, openIsolatedFleet } from '@syncline/fair/testing';
import type { EvalPlan, Via } from './eval-plan.js';
import { cannotShare, redisFleets } from './redis-fleet.js';
import { startRedisProcess } from './redis-process.js';
import { openServiceFleet } from './service-fleet.js';

export interface FleetOpeners {
  readonly fleets: Readonly<Record<Via, OpenFleet>>;
  close(): Promise<void>;
}

const ANSWER_TIMEOUT_MS = 5_000;

/** Rejects with `unavailable` if Redis is needed but unreachable, and with the signal's reason when it fires. */
export async function openFleets(plan: EvalPlan, signal: AbortSignal): Promise<FleetOpeners> {
  const { via, redisUrl, scenarios } = plan;
  const isShared = scenarios.some((scenario) => plan.instancesFor(scenario).length > 0);
  const isRedisUsed = via === 'redis' && isShared;
  const own =
    isRedisUsed && redisUrl === undefined ? await startRedisProcess({ signal }) : undefined;
  if (isRedisUsed && redisUrl !== undefined) await reach(redisUrl, signal);
  const redis = redisFleets(own?.url ?? redisUrl ?? '');
  return {
    fleets: { isolated: openIsolatedFleet, service: openServiceFleet, redis },
    close: async () => own?.stop(),
  };
}

async function reach(url: string, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) });
  try {
    const overdue = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    await once(socket, 'connect', { signal: AbortSignal.any([signal, overdue]) });
  } catch (cause) {
    signal.throwIfAborted();
    throw cannotShare(url, cause);
  } finally {
    socket.destroy();
  }
}
