// How fleets are opened, for each way of sharing. A Redis that was named must answer before anything runs:
// nobody wants to hear after a minute that it does not.
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

/** Rejects with `unavailable` when the Redis that it needs is not there. */
export async function openFleets(plan: EvalPlan): Promise<FleetOpeners> {
  const { via, redisUrl, scenarios } = plan;
  const isShared = scenarios.some((scenario) => plan.instancesFor(scenario).length > 0);
  const isRedisUsed = via === 'redis' && isShared;
  const own = isRedisUsed && redisUrl === undefined ? await startRedisProcess() : undefined;
  if (isRedisUsed && redisUrl !== undefined) await reach(redisUrl);
  const redis = redisFleets(own?.url ?? redisUrl ?? '');
  return {
    fleets: { isolated: openIsolatedFleet, service: openServiceFleet, redis },
    close: async () => own?.stop(),
  };
}

async function reach(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  } catch (cause) {
    throw cannotShare(url, cause);
  } finally {
    socket.destroy();
  }
}
