import type { Metrics } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { createServiceRig, type RigOptions, SEED, WINDOW_MS } from '../testing/service-rig.js';
import { defaultSeedAge, seedAge } from './seed-age.js';

const W = WINDOW_MS;
const now = Number(SEED) + 1_000;

describe('the age of a seed', () => {
  test('F11 live is three windows back to one ahead', () => {
    expect(seedAge(now - 3 * W, W, now)).toBe('live');
    expect(seedAge(now - 3 * W - 1, W, now)).toBe('evicted');
    expect(seedAge(now + W, W, now)).toBe('live');
    expect(seedAge(now + W + 1, W, now)).toBe('future');
  });

  test('F11 the unit of the default tracker is read from the size', () => {
    const ages = (unit: 'auto' | 'ms' | 'opaque', ...seeds: readonly bigint[]) =>
      seeds.map((seed) => defaultSeedAge(seed, { windowMs: W, unit }, now));
    const old = BigInt(now - 4 * W);
    const inUnits = (ms: bigint) => [ms / 1_000n, ms, ms * 1_000n, ms * 1_000_000n];
    expect(ages('auto', ...inUnits(SEED))).toEqual(['live', 'live', 'live', 'live']);
    expect(ages('auto', ...inUnits(old))).toEqual(['evicted', 'evicted', 'evicted', 'evicted']);
    expect(ages('auto', 42n, 10n ** 11n, 2n ** 64n - 1n)).toEqual(['opaque', 'opaque', 'opaque']);
    expect(ages('auto', BigInt(now + 2 * W))).toEqual(['opaque']);
    expect(ages('ms', 42n, SEED / 1_000n, SEED)).toEqual(['evicted', 'evicted', 'live']);
    expect(ages('opaque', SEED, old)).toEqual(['opaque', 'opaque']);
  });
});

function countingRig(options: RigOptions = {}) {
  const counts = new Map<string, number>();
  const metrics = {
    add: (name: string, amount = 1, labels: Readonly<Record<string, string>> = {}) => {
      const key = [name.replace('syncline_fair_', ''), ...Object.values(labels)].join(' ');
      counts.set(key, (counts.get(key) ?? 0) + amount);
    },
    set: (name: string, value: number, labels: Readonly<Record<string, string>> = {}) => {
      counts.set([name.replace('syncline_fair_', ''), ...Object.values(labels)].join(' '), value);
    },
    observe() {},
  };
  return { ...createServiceRig({ ...options, metrics }), counts };
}

describe('eviction', () => {
  test('F11 a named seed is dropped after three windows; its changes are dropped, counted and acknowledged', () => {
    const { connect, settle, pass, service, counts } = countingRig();
    const client = connect();
    client.hello('api', 'one');
    client.deltas([[0, 0, 1]]);
    client.deltas([[0, 0, 1]], SEED + BigInt(W));
    client.deltas([[0, 0, 1]], SEED + BigInt(2 * W)); // ahead
    pass(3 * W - 2_000);
    client.take();
    client.requestState();
    expect(client.take()).toMatchObject([{ seed: SEED, cells: { count: 1 } }]);
    pass(1_500); // too old, and not swept yet
    client.requestState();
    expect(client.take()).toMatchObject([
      { seed: SEED, isSnapshot: true, snapshotEnd: true, cells: { count: 0 } },
    ]);
    client.deltas([[0, 0, 1]]);
    settle();
    expect(client.take()).toMatchObject([{ seed: 0n, ackedSeq: 4, cells: { count: 0 } }]);
    pass(10_000);
    const api = () => service.describe(5).namespaces.find(({ tracker }) => tracker === 'api');
    expect(api()?.seeds.map(({ seed }) => seed)).toEqual([String(SEED + BigInt(W))]);
    expect(counts.get('deltas_total api future')).toBe(1);
    expect(counts.get('deltas_total api evicted')).toBe(1);
    expect(counts.get('deltas_total api applied')).toBe(2);
    expect(counts.get('evicted_cells_total api')).toBe(1);
    expect(counts.get('cells api')).toBe(1); // that of the next window
    expect(counts.get('seeds api')).toBe(1);
  });

  test('F11 a round and a slow stream name no seed that has become too old', () => {
    const { connect, pass } = createServiceRig({ broadcastIntervalMs: 5_000 });
    const [client, slow] = [connect(), connect()];
    client.hello('api', 'one');
    slow.hello('api', 'slow');
    pass(1_100);
    client.take();
    slow.take();
    slow.hasRoom = false;
    client.deltas([[0, 0, 0.5]]);
    pass(5_000);
    expect(slow.take()).toHaveLength(1);
    client.deltas([[0, 1, 0.5]]);
    pass(3 * W - 11_000);
    client.take();
    client.deltas([[0, 2, 0.5]]);
    pass(5_000);
    expect(client.take()).toMatchObject([{ seed: 0n, ackedSeq: 3, cells: { count: 0 } }]);
    slow.drained();
    expect(slow.take()).toEqual([]);
  });

  test('F11 an opaque seed in use survives sweeps; an unused one is dropped', () => {
    const { connect, pass, settle, service, counts } = countingRig();
    const client = connect();
    const seeds = () => service.describe(0).namespaces[0]?.seeds.map(({ seed }) => seed);
    client.deltas([[0, 0, 0.5]], 42n);
    client.deltas([[0, 0, 0.5]], 43n);
    for (let window = 0; window < 12; window += 1) {
      pass(W / 2);
      client.deltas([[0, 0, 0.01]], 42n);
      settle();
    }
    expect(seeds()).toEqual(['42']);
    expect(counts.get('evicted_cells_total default')).toBe(1);
    expect(counts.get('cells default')).toBe(1); // of the seed in use
    client.take();
    client.requestState(43n);
    expect(client.take()).toMatchObject([{ seed: 43n, cells: { count: 0 } }]);
  });

  test('F11 a timed seed of the default tracker is dropped by wall time, even when it is in use', () => {
    const { connect, pass, settle, counts, service } = countingRig();
    const client = connect();
    const inSeconds = SEED / 1_000n;
    client.deltas([[0, 0, 0.5]], inSeconds);
    pass(3 * W);
    client.take();
    client.deltas([[0, 0, 0.5]], inSeconds);
    client.requestState(inSeconds);
    settle();
    expect(client.take()).toMatchObject([{ seed: inSeconds, cells: { count: 0 } }]);
    expect(counts.get('deltas_total default evicted')).toBe(1);
    pass(10_000);
    expect(service.describe(0).namespaces[0]?.seeds).toEqual([]);
  });
});

test('F11 the gauges of the stored cells and seeds fall when seeds are evicted', () => {
  const gauges = new Map<string, number>();
  const metrics: Metrics = {
    add() {},
    observe() {},
    set: (name, value, labels) => gauges.set(`${name} ${labels?.['tracker']}`, value),
  };
  const { connect, settle, pass } = createServiceRig({ metrics });
  const [named, plain] = [connect(), connect()];
  named.hello('api', 'one');
  for (const client of [named, plain]) client.deltas([[0, 0, 0.25]]);
  settle();
  const sizes = () =>
    ['cells api', 'seeds api', 'cells default', 'seeds default'].map((name) =>
      gauges.get(`syncline_fair_${name}`),
    );
  expect(sizes()).toEqual([1, 1, 1, 1]);
  pass(5 * WINDOW_MS);
  expect(sizes()).toEqual([0, 0, 0, 0]);
});
