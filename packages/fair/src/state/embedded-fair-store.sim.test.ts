// The embedded store on a simulated disk: it satisfies the contract of every store, and these tests show what a
// restart, a crash, a full disk and an eviction leave behind.
import { type Clock, type Metrics, type Storage, StorageBatch } from '@syncline/kernel';
import { createSeededRandom, type SimPorts, Simulation } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { fairStoreSuite } from '../conformance/fair-store-suite.js';
import {
  allNamespaces,
  type Cell,
  cellsAt,
  deltasOf,
  exponentialNamespace,
  linearNamespace,
  sumNamespace,
} from '../conformance/store-samples.js';
import { decayed } from '../decay.js';
import { fairLimits } from '../limits.js';
import { createEmbeddedFairStore } from './embedded-fair-store.js';
import {
  ALL_RECORDS,
  cellKey,
  encodeCell,
  encodeNamespace,
  namespaceKey,
  seedPrefix,
} from './embedded-records.js';
import type { FairStore, Namespace } from './fair-store.js';

/** Digits: wall time comes in whole ms, decay goes by parts of them. */
const CLOSE = 4;

interface Started {
  readonly store: FairStore;
  readonly storage: Storage;
  readonly clock: Clock;
}

/** A machine whose process can be started again on the same disk. */
class Machine {
  readonly simulation: Simulation;
  readonly node: ReturnType<Simulation['addNode']>;
  readonly counted = new Map<string, number>();
  readonly logged: string[] = [];
  readonly #starts: SimPorts[] = [];

  constructor(seed: number) {
    this.simulation = new Simulation({ seed });
    this.node = this.simulation.addNode('n1', (ports) => void this.#starts.push(ports));
  }

  async start(): Promise<Started> {
    this.node.start();
    await this.simulation.clock.sleep(1);
    const ports = this.#starts.at(-1);
    if (ports === undefined) throw new Error('the node has not booted');
    const storage = await ports.openStorage('fair');
    const count = (name: string, amount: number) =>
      void this.counted.set(name, (this.counted.get(name) ?? 0) + amount);
    const metrics: Metrics = {
      add: (name, amount = 1) => count(name, amount),
      set() {},
      observe: (name) => count(name, 1),
    };
    const note = (msg: string) => void this.logged.push(msg);
    const logger = { ...ports.logger, info: note, warn: note, error: note };
    const store = await createEmbeddedFairStore({ ...ports, storage, metrics, logger });
    return { store, storage, clock: ports.clock };
  }

  async stop({ store, storage }: Started): Promise<void> {
    await store.close();
    await storage.close();
    this.node.kill();
  }
}

async function keysOf(storage: Storage): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of storage.range(ALL_RECORDS)) keys.push(Buffer.from(key).toString());
  return keys;
}

function liveSeed(clock: Clock): bigint {
  return BigInt(Math.floor(clock.nowMs() / 300_000) * 300_000);
}

function add(store: FairStore, namespace: Namespace, seed: bigint, amount: number): void {
  void store.applyDelta(namespace, seed, deltasOf({ row: 1, column: 7, amount, timeMs: 5 }));
}

describe('as any store', () => {
  let machine: Machine;
  const cases = fairStoreSuite(async () => {
    const started = await machine.start();
    return {
      store: started.store,
      advanceMs: (ms: number) => started.clock.sleep(ms),
      [Symbol.asyncDispose]: () => machine.stop(started),
    };
  });
  test.each(cases)('$name', async (one) => {
    machine = new Machine(1);
    await machine.simulation.run(() => one.run());
  });
});

test('F50 a clean stop keeps all cells of all trackers, and they age by wall time', async () => {
  const machine = new Machine(1);
  await machine.simulation.run(async () => {
    const first = await machine.start();
    const seed = liveSeed(first.clock);
    for (const namespace of allNamespaces) {
      add(first.store, namespace, seed, 0.75);
      add(first.store, namespace, seed + 300_000n, 0.5);
    }
    void first.store.applyDelta(sumNamespace, 42n, deltasOf({ row: 9, column: 9, amount: 0 }));
    const stoppedAtMs = machine.node.clock.wallMs();
    await machine.stop(first);
    await machine.simulation.clock.sleep(60_000);

    const second = await machine.start();
    const passedMs = second.clock.nowMs() - stoppedAtMs;
    for (const [namespace, at, before] of allNamespaces.flatMap((one) => [
      [one, seed, 0.75] as const,
      [one, seed + 300_000n, 0.5] as const,
    ])) {
      const { rule } = namespace;
      const expected = rule.policy === 'sum' ? before : decayed(rule, before, passedMs);
      const [cell] = await cellsAt(second.store, namespace, at);
      expect(cell).toMatchObject({ row: 1, column: 7 });
      expect(cell?.probability).toBeCloseTo(expected, CLOSE);
      if (rule.policy === 'sum') expect(cell?.timeMs).toBe(5);
    }
    expect(await cellsAt(second.store, sumNamespace, 42n)).toMatchObject([{ probability: 0 }]);
    expect(machine.logged).toEqual(['fair state restored']);
    await machine.stop(second);
  });
});

test('F50 a clock that was set back raises no cell', async () => {
  const machine = new Machine(1);
  await machine.simulation.run(async () => {
    const first = await machine.start();
    const seed = liveSeed(first.clock);
    add(first.store, linearNamespace, seed, 0.75);
    await machine.stop(first);
    machine.node.clock.step(-120_000);
    const second = await machine.start();
    const [cell] = await cellsAt(second.store, linearNamespace, seed);
    expect(cell?.probability).toBeCloseTo(0.75, CLOSE);
    await machine.stop(second);
  });
});

test('F50 F51 after a crash each cell has a value that it had before, and the last one if that is old enough', async () => {
  for (let world = 0; world < 25; world += 1) {
    const machine = new Machine(world);
    const random = createSeededRandom(world);
    await machine.simulation.run(async () => {
      let running = await machine.start();
      const seed = liveSeed(running.clock);
      const namespace = world % 2 === 0 ? exponentialNamespace : linearNamespace;
      const history = new Map<string, { readonly probability: number; readonly atMs: number }[]>();
      for (let life = 0; life < 3; life += 1) {
        const steps = Math.floor(random.float() * 60);
        for (let step = 0; step < steps; step += 1) {
          const place = { row: Math.floor(random.float() * 3), column: step % 50 };
          const amount = random.float() - 0.25;
          await running.store.applyDelta(namespace, seed, deltasOf({ ...place, amount }));
          const atMs = running.clock.nowMs();
          for (const { row, column, probability } of await cellsAt(running.store, namespace, seed))
            record(history, `${row}/${column}`, { probability, atMs });
          await running.clock.sleep(random.float() * 200);
        }
        const diedAtMs = machine.node.clock.wallMs();
        const isKill = random.float() < 0.5;
        if (isKill) machine.node.kill();
        else machine.node.losePower();
        await machine.simulation.clock.sleep(random.float() * 5_000);
        running = await machine.start();
        const nowMs = running.clock.nowMs();
        const cells = await cellsAt(running.store, namespace, seed);
        for (const cell of cells) {
          const had = history.get(`${cell.row}/${cell.column}`) ?? [];
          const values = had.map(({ probability, atMs }) =>
            decayed(namespace.rule as Parameters<typeof decayed>[0], probability, nowMs - atMs),
          );
          expect(values.some((value) => Math.abs(value - cell.probability) < 5e-5)).toBe(true);
          if (isKill && settled(had, diedAtMs))
            expect(cell.probability).toBeCloseTo(values.at(-1) ?? -1, CLOSE);
        }
      }
    });
  }
});

type Moment = { readonly probability: number; readonly atMs: number };

function record(history: Map<string, Moment[]>, place: string, moment: Moment): void {
  history.set(place, [...(history.get(place) ?? []), moment]);
}

/** Certainly written: two rounds of writing have passed without a change. */
function settled(had: readonly Moment[], diedAtMs: number): boolean {
  const last = had.at(-1);
  return last !== undefined && diedAtMs - last.atMs > 2_500;
}

test('a full disk only stops the writing, which resumes when there is room', async () => {
  const machine = new Machine(3);
  await machine.simulation.run(async () => {
    const running = await machine.start();
    const { store, storage, clock } = running;
    const seed = liveSeed(clock);
    machine.node.disk.adjust({ isFull: true });
    for (let round = 0; round < 10; round += 1) {
      add(store, linearNamespace, seed, 0.1);
      await clock.sleep(1_000);
    }
    expect(machine.logged).toEqual([
      'cannot write fair state to disk; serving continues from memory',
    ]);
    expect(machine.counted.get('syncline_fair_store_errors_total')).toBeGreaterThan(5);
    expect(await keysOf(storage)).toEqual([]);
    const [inMemory] = await cellsAt(store, linearNamespace, seed);
    expect(inMemory?.probability).toBeGreaterThan(0.9);

    machine.node.disk.adjust({ isFull: false });
    await clock.sleep(3_000);
    expect(machine.logged.at(-1)).toBe('writing fair state to disk works again');
    expect(await keysOf(storage)).toEqual(['fair/api@2', `fair/api@2/${seed}/1/7`]);
    await machine.stop(running);
  });
});

test('a large tracker is written in small batches, and all of it', async () => {
  const machine = new Machine(4);
  await machine.simulation.run(async () => {
    const { store, storage, clock } = await machine.start();
    const seed = liveSeed(clock);
    const large = { ...linearNamespace, shape: { levels: 2, columns: 2_000 } };
    const deltas = Array.from({ length: 4_000 }, (_, at) => ({
      row: at % 2,
      column: at >> 1,
      amount: 0.5,
    }));
    let largest = 0;
    const { write } = storage;
    storage.write = (batch, options) => {
      largest = Math.max(largest, batch.length);
      return write.call(storage, batch, options);
    };
    void store.applyDelta(large, seed, deltasOf(...deltas));
    await clock.sleep(3_000);
    expect(largest).toBe(500);
    expect(await keysOf(storage)).toHaveLength(4_001);
  });
});

describe('obsolete data is removed from disk', () => {
  const run = async (body: (machine: Machine, started: Started, seed: bigint) => Promise<void>) => {
    const machine = new Machine(5);
    await machine.simulation.run(async () => {
      const started = await machine.start();
      await body(machine, started, liveSeed(started.clock));
    });
  };
  const later = ({ clock }: Started) => clock.sleep(2_500);

  test('evicted and forgotten seeds, and the tracker with the last of them', () =>
    run(async (_, started, seed) => {
      const { store, storage } = started;
      for (const at of [seed, seed + 1n, seed + 2n]) add(store, linearNamespace, at, 0.5);
      await later(started);
      expect(await keysOf(storage)).toHaveLength(4);
      await store.evictBefore(linearNamespace, seed + 1n);
      await store.forget(linearNamespace, seed + 2n);
      await later(started);
      expect(await keysOf(storage)).toEqual(['fair/api@2', `fair/api@2/${seed + 1n}/1/7`]);
      await store.evictBefore(linearNamespace, seed + 2n);
      await later(started);
      expect(await keysOf(storage)).toEqual([]);
      add(store, linearNamespace, seed, 0.5);
      await later(started);
      expect(await keysOf(storage)).toHaveLength(2);
    }));

  test('cells that have decayed to 0', () =>
    run(async (_, started, seed) => {
      add(started.store, linearNamespace, seed, 0.1);
      await later(started);
      expect(await keysOf(started.storage)).toHaveLength(2);
      add(started.store, linearNamespace, seed, -1);
      await later(started);
      expect(await keysOf(started.storage)).toEqual(['fair/api@2']);
    }));

  test('F51 a seed that was dropped while it was written, and came back', () =>
    run(async (_machine, started, seed) => {
      const { store, storage, clock } = started;
      const wide = Array.from({ length: 2_000 }, (_, column) => ({ row: 0, column, amount: 0.5 }));
      void store.applyDelta(sumNamespace, seed, deltasOf(...wide));
      await clock.sleep(1_015);
      const writtenCount = (await keysOf(storage)).length;
      expect(writtenCount).toBeGreaterThan(1);
      expect(writtenCount).toBeLessThan(2_001);
      await store.forget(sumNamespace, seed);
      add(store, sumNamespace, seed, 0.25);
      await later(started);
      expect(await keysOf(storage)).toEqual(['fair/', `fair//${seed}/1/7`]);
    }));

  test('F51 a seed that was dropped while it was written is not written further', () =>
    run(async (_machine, started, seed) => {
      const { store, storage, clock } = started;
      const wide = Array.from({ length: 4_000 }, (_, column) => ({ row: 0, column, amount: 0.5 }));
      void store.applyDelta(sumNamespace, seed, deltasOf(...wide));
      await clock.sleep(1_015);
      await store.forget(sumNamespace, seed);
      const writtenCount = (await keysOf(storage)).length;
      await clock.sleep(100);
      expect((await keysOf(storage)).length).toBeLessThanOrEqual(writtenCount + 500); // one was on its way
      expect(writtenCount).toBeLessThan(3_000);
    }));

  test('seeds for which there is no room at the start, and old ones of the default tracker', () =>
    run(async (machine, started) => {
      const { storage, clock } = started;
      const old = liveSeed(clock) - 4n * 300_000n;
      const { value: seedsMax } = fairLimits.defaultSeedsMax;
      const batch = new StorageBatch().put(namespaceKey(''), encodeNamespace(sumNamespace));
      const put = (seed: bigint) =>
        batch.put(cellKey(seedPrefix('', seed), { row: 1, column: 7 }), encodeCell(0.5, 5));
      put(old);
      for (let seed = 0; seed < seedsMax + 1; seed += 1) put(BigInt(seed));
      await storage.write(batch, { durability: 'buffered' });
      const next = await restarted(machine, started);
      expect(await next.store.seeds(sumNamespace)).toHaveLength(seedsMax);
      expect(await cellsAt(next.store, sumNamespace, old)).toEqual([]);
      expect(machine.counted.get('syncline_fair_store_errors_total')).toBe(1);
      await later(next);
      expect(await keysOf(next.storage)).toHaveLength(seedsMax + 1);
    }));

  test('cells of a tracker that never returns, when their windows are over', () =>
    run(async (machine, started, seed) => {
      add(started.store, exponentialNamespace, seed, 1);
      await machine.stop(started);
      const next = await machine.start();
      await later(next);
      expect(await keysOf(next.storage)).toHaveLength(2);
      await next.clock.sleep(4 * 300_000);
      expect(await keysOf(next.storage)).toEqual([]);
    }));

  test('cells of a tracker that returns with another shape', () =>
    run(async (machine, started, seed) => {
      add(started.store, exponentialNamespace, seed, 1);
      await machine.stop(started);
      const next = await machine.start();
      const other = { ...exponentialNamespace, shape: { levels: 4, columns: 50 } };
      const cells: Cell[] = await cellsAt(next.store, other, seed);
      expect(cells).toEqual([]);
      add(next.store, other, seed, 0.5);
      await later(next);
      const last = await restarted(machine, next);
      expect(await cellsAt(last.store, other, seed)).toHaveLength(1);
      expect(await cellsAt(last.store, exponentialNamespace, seed)).toEqual([]);
    }));

  test('seeds that were too old at the start', () =>
    run(async (machine, started, seed) => {
      add(started.store, exponentialNamespace, seed, 1);
      await machine.stop(started);
      await machine.simulation.clock.sleep(4 * 300_000);
      const next = await machine.start();
      expect(await cellsAt(next.store, exponentialNamespace, seed)).toEqual([]);
      await later(next);
      expect(await keysOf(next.storage)).toEqual([]);
    }));
});

async function restarted(machine: Machine, started: Started): Promise<Started> {
  await machine.stop(started);
  return await machine.start();
}
