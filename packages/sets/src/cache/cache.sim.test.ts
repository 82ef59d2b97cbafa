// Sets that come into memory while others write to them, and leave it when there is no room.
import type { StorageBatch } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { openEngine } from '../open-engine.js';
import type { SetsEngine } from '../sets-engine.js';
import { TurnShare } from '../turn-share.js';
import { Eviction, type EvictionDeps } from './eviction.js';

const bytes = (text: string) => Buffer.from(text);
const list = (...texts: readonly string[]) => ByteList.of(...texts.map(bytes));

function members(engine: SetsEngine, name: string): readonly string[] {
  const found: string[] = [];
  engine.keyspace.forEach(list(name), 0, (buffer, start, end) => {
    found.push(Buffer.from(buffer.subarray(start, end)).toString());
  });
  return found.sort();
}

async function open(ports: SimulatedBody, cacheBytesMax?: number) {
  const storage = await ports.openStorage('db');
  const options = { nodeId: 1, clusterId: 'sim', ...(cacheBytesMax && { cacheBytesMax }) };
  const start = async () => {
    const engine = await openEngine({ ...ports, storage }, options);
    return { engine, keyspace: engine.keyspace };
  };
  return { storage, start };
}

/** Adds members in operations of 1,000, and waits until they are folded. */
async function fill(engine: SetsEngine, name: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 1_000) {
    const part = Array.from({ length: Math.min(1_000, count - from) }, (_, i) => `m${from + i}`);
    engine.keyspace.add(list(name, ...part), 0, 1);
  }
  await engine.folding.foldAll();
}

test('a set is brought in while writers go on: what they did since wins', async () => {
  for (let seed = 0; seed < 8; seed += 1) {
    await runInSimulation(seed, async (ports) => {
      const { start } = await open(ports);
      const before = await start();
      await fill(before.engine, 'a', 3_000);
      await before.engine.stop();
      const { engine, keyspace } = await start();
      const model = new Set(Array.from({ length: 3_000 }, (_, index) => `m${index}`));
      expect(keyspace.isWhole(list('a'), 0)).toBe(false);
      let isLoading = true;
      const loads = [keyspace.bringIn([bytes('a')]), keyspace.bringIn([bytes('a')])];
      const loaded = Promise.all(loads).then(() => {
        isLoading = false;
      });
      let changes = 0;
      while (isLoading || changes < 20) {
        const member = `m${ports.random.u32() % 3_500}`;
        if (ports.random.float() < 0.5) {
          keyspace.add(list('a', member), 0, 1);
          model.add(member);
        } else {
          keyspace.remove(list('a', member), 0, 1);
          model.delete(member);
        }
        changes += 1;
        if (changes % 5 === 0) await ports.clock.sleep(0.1);
        if (changes % 40 === 0) await engine.folding.foldAll();
      }
      await loaded;
      expect(keyspace.isWhole(list('a'), 0)).toBe(true);
      expect(members(engine, 'a')).toEqual([...model].sort());
      expect(keyspace.cardinality(list('a'), 0)).toBe(model.size);
      await engine.stop();
    });
  }
});

test('a snapshot that is lost with a reopened store is taken again', () =>
  runInSimulation(1, async (ports) => {
    const { start } = await open(ports);
    const before = await start();
    await fill(before.engine, 'a', 3_000);
    await before.engine.stop();
    const { engine, keyspace } = await start();
    ports.node.disk.adjust({ isFull: true });
    keyspace.add(list('b', 'x'), 0, 1);
    await expect(engine.commits.allSettled()).rejects.toMatchObject({ code: 'storage-full' });
    ports.node.disk.adjust({ isFull: false });
    const loading = keyspace.bringIn([bytes('a')]);
    keyspace.add(list('b', 'y'), 0, 1);
    await engine.commits.allSettled();
    await loading;
    expect(members(engine, 'a').length).toBe(3_000);
    await engine.stop();
  }));

test('S10 sets not used for longest leave when there is no room, and are found in the storage', () =>
  runInSimulation(1, async (ports) => {
    const { start } = await open(ports, 400_000);
    const { engine, keyspace } = await start();
    for (let index = 0; index < 10; index += 1) await fill(engine, `set ${index}`, 1_000);
    await ports.clock.sleep(500);
    expect(engine.eviction.bytes).toBeLessThanOrEqual(400_000);
    expect(keyspace.isWhole(list('set 9'), 0)).toBe(true);
    expect(keyspace.isWhole(list('set 0'), 0)).toBe(false);
    for (let index = 0; index < 10; index += 1) {
      expect(keyspace.cardinality(list(`set ${index}`), 0)).toBe(1_000);
      expect(keyspace.has(list(`set ${index}`, 'm999'), 0, 1)).toBe(true);
      expect(keyspace.has(list(`set ${index}`, 'm1000'), 0, 1)).toBe(false);
    }
    await keyspace.bringIn([bytes('set 0')]);
    expect(members(engine, 'set 0').length).toBe(1_000);
    await engine.stop();
  }));

test('a set that does not fit stays out, and what is not folded stays in', () =>
  runInSimulation(1, async (ports) => {
    const { start } = await open(ports, 100_000);
    const { engine, keyspace } = await start();
    await fill(engine, 'a', 4_000);
    await ports.clock.sleep(500);
    await keyspace.bringIn([bytes('a')]);
    expect(keyspace.isWhole(list('a'), 0)).toBe(false);
    keyspace.add(list('a', 'fresh'), 0, 1);
    keyspace.remove(list('a', 'm7'), 0, 1);
    engine.eviction.check();
    await ports.clock.sleep(20);
    expect(keyspace.has(list('a', 'fresh'), 0, 1)).toBe(true);
    expect(keyspace.has(list('a', 'm7'), 0, 1)).toBe(false);
    expect(keyspace.cardinality(list('a'), 0)).toBe(4_000);
    await engine.stop();
  }));

test('a set that a command found whole is still whole when the command is admitted', () =>
  runInSimulation(1, async (ports) => {
    const { start } = await open(ports);
    const { engine, keyspace } = await start();
    await fill(engine, 'a', 100);
    const deps = { state: engine.state, turns: new TurnShare(ports.clock) };
    new Eviction(deps, { bytesMax: 1 }).check();
    expect(keyspace.isWhole(list('a'), 0), 'within the turn').toBe(true);
    await ports.clock.sleep(1);
    expect(keyspace.isWhole(list('a'), 0), 'later').toBe(false);
    await engine.stop();
  }));

test('S10 many sets that must stay are looked at once, not once for each that leaves', () =>
  runInSimulation(1, async (ports) => {
    const { start } = await open(ports);
    const { engine, keyspace } = await start();
    const count = 3_000;
    for (let index = 0; index < count; index += 1) {
      keyspace.add(list(`dirty ${index}`, 'm'), 0, 1);
      keyspace.cardinality(list(`clean ${index}`), 0);
    }
    const { registry, heap } = engine.state;
    let looks = 0;
    const state: EvictionDeps['state'] = {
      heap,
      registry,
      unload: (set, rowsMax) => {
        looks += 1;
        return engine.state.unload(set, rowsMax);
      },
    };
    const turns = new TurnShare(ports.clock);
    const eviction = new Eviction({ state, turns }, { bytesMax: 1 });
    for (let turn = 0; turn < 50; turn += 1) {
      eviction.check();
      await ports.clock.sleep(1);
    }
    expect(registry.size).toBe(count);
    expect(looks).toBeLessThanOrEqual(3 * count);
    expect(eviction.bytes).toBeGreaterThan(count * 512 + registry.nameBytes);
    await engine.stop();
  }));

test('names that were only asked for do not fill the memory', () =>
  runInSimulation(1, async (ports) => {
    const { start } = await open(ports, 100_000);
    const { engine, keyspace } = await start();
    for (let index = 0; index < 5_000; index += 1) {
      const readable = keyspace.admit('read');
      if (readable !== undefined) await readable;
      keyspace.cardinality(list(`nobody ${index}`), 0);
      if (index % 100 === 0) await ports.clock.sleep(1);
    }
    await ports.clock.sleep(100);
    expect(engine.eviction.bytes).toBeLessThanOrEqual(100_000);
    await engine.stop();
  }));

test('S16 SADD, SREM and SISMEMBER read the storage once per member and once per set', () =>
  runInSimulation(1, async (ports) => {
    const storage = await ports.openStorage('db');
    let gets = 0;
    const counting = {
      get: (key: Uint8Array) => {
        gets += 1;
        return storage.get(key);
      },
      range: storage.range.bind(storage),
      snapshot: storage.snapshot.bind(storage),
      secure: storage.secure.bind(storage),
      health: storage.health.bind(storage),
      whenReadable: storage.whenReadable.bind(storage),
      write: (batch: StorageBatch, options: { durability: 'buffered' | 'synced' }) =>
        storage.write(batch, options),
      close: storage.close.bind(storage),
      [Symbol.asyncDispose]: storage.close.bind(storage),
    };
    const deps = { ...ports, storage: counting };
    const options = { nodeId: 1, clusterId: 'sim', cacheBytesMax: 1 };
    const engine = await openEngine(deps, options);
    await fill(engine, 'a', 2_000);
    await ports.clock.sleep(200);
    const { keyspace } = engine;
    const getsOf = (work: () => void) => {
      gets = 0;
      work();
      return gets;
    };
    expect(keyspace.isWhole(list('a'), 0)).toBe(false);
    expect(getsOf(() => keyspace.has(list('a', 'm5'), 0, 1))).toBeLessThanOrEqual(2);
    expect(getsOf(() => keyspace.add(list('a', 'm6', 'new'), 0, 1))).toBeLessThanOrEqual(3);
    expect(getsOf(() => keyspace.remove(list('a', 'm7', 'm8', 'none'), 0, 1))).toBeLessThanOrEqual(
      4,
    );
    await engine.stop();
  }));
