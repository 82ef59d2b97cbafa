// Fair: how long it takes after the last outcome until all instances see the same values, with default settings:
// outcomes are sent every 100 ms. Decay is off, so that values can be compared exactly.
import { setTimeout as afterMs } from 'node:timers/promises';
import type { FairRemote, FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { redisRemote } from '@syncline/fair/redis';
import { startRedis } from '@syncline/testkit';
import type { AnyBench, Contestant } from './bench.js';
import { openFleet } from './fair-fleet.js';
import { redisVersion } from './fair-redis-peer.js';
import { startStateServer } from './fair-state-server.js';
import { defineBench } from './measure.js';
import { atPace } from './pace.js';

const OUTCOMES = { perSecond: 1_000, count: 300 };
const KEYS = Array.from({ length: 100 }, (_, index) => `tenant-${index}`);
const FAILURE_PART = 0.3;
const SAME_MAX = 1e-6;
const TIMEOUT_MS = 20_000;

interface ConvergenceSubject {
  readonly trackers: readonly FairTracker[];
}

interface Backend extends AsyncDisposable {
  readonly remote: FairRemote;
}

function contestantOf(
  name: string,
  instances: number,
  openBackend: () => Promise<Backend>,
): Contestant<ConvergenceSubject> {
  return {
    name,
    ...(name.startsWith('Redis') && redisVersion !== undefined && { version: redisVersion }),
    async open() {
      const backend = await openBackend();
      const { remote } = backend;
      const fleet = await openFleet({ count: instances, remote, lambdaPerSecond: 0 });
      return {
        trackers: fleet.trackers,
        async [Symbol.asyncDispose]() {
          await fleet[Symbol.asyncDispose]();
          await backend[Symbol.asyncDispose]();
        },
      };
    },
  };
}

async function openService(): Promise<Backend> {
  const server = await startStateServer();
  const remote = grpcRemote({ address: server.address, tracker: 'bench' });
  return { remote, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function openRedis(fanOut: 'pubsub' | 'poll'): Promise<Backend> {
  const redis = await startRedis();
  const remote = redisRemote({ url: redis.url, tracker: 'bench', fanOut });
  return { remote, [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() };
}

/** Random outcomes at random instances, then the time until the views are equal. */
async function convergenceMs({ trackers }: ConvergenceSubject): Promise<number> {
  await atPace(OUTCOMES, () => {
    const outcome = Math.random() < FAILURE_PART ? 'failure' : 'success';
    pick(trackers)?.report(pick(KEYS) ?? '', outcome);
  });
  for (const tracker of trackers) tracker.report(pick(KEYS) ?? '', 'failure'); // now they differ
  const lastMs = performance.now();
  while (!areEqual(trackers)) {
    if (performance.now() - lastMs > TIMEOUT_MS)
      throw new Error(`the views still differ after ${TIMEOUT_MS} ms`);
    await afterMs(1);
  }
  return performance.now() - lastMs;
}

function areEqual([first, ...others]: readonly FairTracker[]): boolean {
  return KEYS.every((key) => {
    const probability = first?.peek(key).probability ?? 0;
    return others.every((one) => Math.abs(one.peek(key).probability - probability) <= SAME_MAX);
  });
}

function pick<T>(values: readonly T[]): T | undefined {
  return values[Math.floor(Math.random() * values.length)];
}

export const fairConvergenceBenches: readonly AnyBench[] = [2, 4, 8].map((instances) =>
  defineBench<ConvergenceSubject>({
    name: `fair-convergence-${instances}`,
    unit: 'ms',
    better: 'less',
    about: `time from the last of ${OUTCOMES.count} random outcomes until ${instances} instances have equal views`,
    contestants: [
      contestantOf('state service', instances, openService),
      contestantOf('Redis pub/sub', instances, () => openRedis('pubsub')),
      contestantOf('Redis polling', instances, () => openRedis('poll')),
    ],
    run: convergenceMs,
  }),
);
