// Fair: the effect of kill -9 of the state service on decisions, and how soon all instances reconnect when it is
// back.
//
// 8 instances decide all the time, in this process. One that threw would end the bench. The two outage benches share
// one run, since it takes long.
import { setTimeout as afterMs } from 'node:timers/promises';
import type { FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import type { AnyBench, Measured } from './bench.js';
import { openFleet, untilConnected } from './fair-fleet.js';
import { startStateServer } from './fair-state-server.js';
import { quantile } from './measure.js';

const INSTANCES = 8;
const BEFORE_MS = 5_000;
const SLICE_MS = 1_000;
const REQUESTS_PER_TURN = 5;
const KEYS = Array.from({ length: 1_000 }, (_, index) => `tenant-${index}`);
const FAILURE_EVERY = 4;
const BACK_MS_MAX = 2_500;

interface Outage {
  /** 99th percentiles of `register`, one per second, in microseconds. */
  readonly before: readonly number[];
  readonly during: readonly number[];
  /** From the return of the service until all are connected. */
  readonly backMs: number;
}

async function runOutage(outageMs: number): Promise<Outage> {
  await using server = await startStateServer();
  await using fleet = await openFleet({
    count: INSTANCES,
    remote: grpcRemote({ address: server.address, tracker: 'bench' }),
  });
  await decideFor(BEFORE_MS, fleet.trackers); // warms up
  const before = await decideFor(BEFORE_MS, fleet.trackers);
  await server.node.kill();
  const during = await decideFor(outageMs, fleet.trackers);
  const restarted = server.node.start();
  const isUp = { value: false };
  void restarted.then(() => {
    isUp.value = true;
  });
  while (!isUp.value) await decideFor(SLICE_MS / 100, fleet.trackers);
  await restarted;
  const upMs = performance.now();
  await untilConnected(fleet.trackers);
  return { before, during, backMs: performance.now() - upMs };
}

/** Decides and reports without pause. Returns the 99th percentile of `register` in each second. */
async function decideFor(ms: number, trackers: readonly FairTracker[]): Promise<readonly number[]> {
  const slices: number[] = [];
  const endMs = performance.now() + ms;
  for (let call = 0; performance.now() < endMs; ) {
    const micros: number[] = [];
    const sliceEndMs = performance.now() + SLICE_MS;
    while (performance.now() < Math.min(sliceEndMs, endMs)) {
      for (const tracker of trackers)
        for (let turn = 0; turn < REQUESTS_PER_TURN; turn += 1, call += 1)
          micros.push(decideOnce(tracker, call));
      await afterMs(1);
    }
    slices.push(quantile(micros, 0.99));
  }
  return slices;
}

function decideOnce(tracker: FairTracker, call: number): number {
  const key = KEYS[(call * 7) % KEYS.length] ?? '';
  const startMs = performance.now();
  const { throttled } = tracker.register(key);
  const micros = (performance.now() - startMs) * 1_000;
  if (!throttled) tracker.report(key, call % FAILURE_EVERY === 0 ? 'failure' : 'success');
  return micros;
}

function benchesOf(prefix: string, outageMs: number, isLong: boolean): readonly AnyBench[] {
  let outage: Promise<Outage> | undefined;
  const once = () => {
    outage ??= runOutage(outageMs);
    return outage;
  };
  const common = { better: 'less', isLong, versions: [] } as const;
  const killed = `${INSTANCES} instances, the service killed for ${outageMs / 1_000} s`;
  return [
    {
      ...common,
      name: `${prefix}-register`,
      unit: 'µs',
      about: `99th percentile of register in each second: ${killed}`,
      async measure(): Promise<readonly Measured[]> {
        const { before, during } = await once();
        return [
          { contestant: 'service killed', values: during },
          { contestant: 'before', values: before },
        ];
      },
    },
    {
      ...common,
      name: `${prefix}-return`,
      unit: 'ms',
      about: `time from the return of the service until all are reconnected: ${killed}`,
      async measure(): Promise<readonly Measured[]> {
        const { backMs } = await once();
        return [
          { contestant: 'state service', values: [backMs] },
          { contestant: 'at most', values: [BACK_MS_MAX] },
        ];
      },
    },
  ];
}

export const fairOutageBenches: readonly AnyBench[] = [
  ...benchesOf('fair-outage', 10_000, false),
  ...benchesOf('fair-outage-60s', 60_000, true),
];
