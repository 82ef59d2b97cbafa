// What a simulated disk leaves after kills, power losses, full disks and failed syncs. The conformance suites show
// that it is a proper Storage and Files without them.
import { expect, test } from 'vitest';
import { createSeededRandom } from '../../seeded-random.js';
import type { Storage } from '../../storage/storage.js';
import { StorageBatch } from '../../storage/storage-batch.js';
import type { SimNode, SimPorts } from '../sim-node.js';
import { Simulation } from '../simulation.js';
import { type DiskOperation, SeededDiskPlan } from './disk-plan.js';

const bytes = (value: string) => new TextEncoder().encode(value);
const string = (value: Uint8Array | undefined) =>
  value === undefined ? undefined : new TextDecoder().decode(value);
const SYNCED = { durability: 'synced' } as const;
const BUFFERED = { durability: 'buffered' } as const;

interface World {
  readonly simulation: Simulation;
  readonly node: SimNode;
  /** Starts the node if it is down and returns the ports of its process. */
  readonly ports: () => Promise<SimPorts>;
  readonly store: () => Promise<Storage>;
}

async function withDisk(seed: number, body: (world: World) => Promise<void>): Promise<void> {
  const simulation = new Simulation({ seed });
  let booted: SimPorts | undefined;
  const node = simulation.addNode('n1', (given) => {
    booted = given;
  });
  const ports = async () => {
    node.start();
    await simulation.clock.sleep(1);
    if (booted === undefined) throw new Error('the node has not booted');
    return booted;
  };
  const store = async () => (await ports()).openStorage('store');
  await simulation.run(() => body({ simulation, node, ports, store }));
}

/** Keys `0` to `count - 1`, one batch each; a batch also writes a twin, which must share its fate. */
async function writeNumbers(storage: Storage, count: number, durabilityOf: (n: number) => object) {
  for (let n = 0; n < count; n += 1) await writeNumber(storage, n, durabilityOf(n));
}

async function writeNumber(storage: Storage, n: number, durability: object): Promise<void> {
  const batch = new StorageBatch()
    .put(bytes(`${n}`), bytes('x'))
    .put(bytes(`twin ${n}`), bytes('x'));
  await storage.write(batch, durability as typeof SYNCED);
}

function numbersIn(storage: Storage, count: number): number[] {
  const has = (key: string) => storage.get(bytes(key)) !== undefined;
  const found = Array.from({ length: count }, (_, n) => n).filter((n) => has(`${n}`));
  expect(found.every((n) => has(`twin ${n}`))).toBe(true);
  return found;
}

test('K82 a kill keeps every acknowledged batch', () =>
  withDisk(1, async ({ node, store }) => {
    await writeNumbers(await store(), 20, () => BUFFERED);
    node.kill();
    expect(numbersIn(await store(), 20).length).toBe(20);
  }));

test('K82 a power loss keeps the synced batches and any subset of the others', async () => {
  const holes = new Set<string>();
  for (let seed = 0; seed < 40; seed += 1) {
    await withDisk(seed, async ({ node, store }) => {
      await writeNumbers(await store(), 12, (n) => (n % 4 === 3 ? SYNCED : BUFFERED));
      node.losePower();
      const kept = numbersIn(await store(), 12);
      expect(kept).toEqual(expect.arrayContaining([3, 7, 11]));
      holes.add(kept.join());
    });
  }
  expect(holes.size).toBeGreaterThan(10);
  expect(holes).toContain('3,7,11');
  expect(holes).toContain('0,1,2,3,4,5,6,7,8,9,10,11');
});

test('K82 a power loss keeps what was secured, and any subset of what came later', async () => {
  const kept = new Set<string>();
  for (let seed = 0; seed < 40; seed += 1) {
    await withDisk(seed, async ({ node, store }) => {
      const storage = await store();
      await writeNumbers(storage, 6, () => BUFFERED);
      await storage.secure();
      for (const n of [6, 7]) await writeNumber(storage, n, BUFFERED);
      node.losePower();
      const found = numbersIn(await store(), 8);
      expect(found).toEqual(expect.arrayContaining([0, 1, 2, 3, 4, 5]));
      kept.add(found.join());
    });
  }
  expect(kept).toContain('0,1,2,3,4,5');
  expect(kept).toContain('0,1,2,3,4,5,6,7');
});

test.each(['is in flight', 'has failed'])(
  'K82 a power loss may take what is secured too late: it %s',
  async (state) => {
    const kept = new Set<number>();
    for (let seed = 0; seed < 40; seed += 1) {
      await withDisk(seed, async ({ node, store, simulation }) => {
        const storage = await store();
        await writeNumbers(storage, 6, () => BUFFERED);
        if (state === 'has failed') {
          node.disk.adjust({ syncFailureProbability: 1 });
          await expect(storage.secure()).rejects.toMatchObject({ code: 'storage-failed' });
        } else {
          void storage.secure();
          await simulation.clock.sleep(0);
        }
        node.losePower();
        kept.add(numbersIn(await store(), 6).length);
      });
    }
    expect(kept).toContain(0);
    expect(kept.size).toBeGreaterThan(2);
  },
);

test('what survived one power loss survives the next', () =>
  withDisk(3, async ({ node, store }) => {
    await writeNumbers(await store(), 12, () => BUFFERED);
    node.losePower();
    const kept = numbersIn(await store(), 12);
    node.losePower();
    expect(numbersIn(await store(), 12)).toEqual(kept);
  }));

test.each(['kill', 'losePower'] as const)(
  'K83 a write in flight at a %s is complete or gone',
  async (how) => {
    const outcomes = new Set<number>();
    for (let seed = 0; seed < 40; seed += 1) {
      await withDisk(seed, async ({ node, store, simulation }) => {
        const storage = await store();
        void writeNumbers(storage, 1, () => SYNCED);
        await simulation.clock.sleep(0);
        node[how]();
        outcomes.add(numbersIn(await store(), 1).length);
      });
    }
    expect(outcomes).toEqual(new Set([0, 1]));
  },
);

test('K16 reads continue while the disk is full, and the first write that finds space reopens the store', () =>
  withDisk(1, async ({ node, store, simulation }) => {
    const storage = await store();
    await storage.write(new StorageBatch().put(bytes('a'), bytes('1')), SYNCED);
    const snapshot = storage.snapshot();
    node.disk.adjust({ isFull: true });
    const write = () => storage.write(new StorageBatch().put(bytes('a'), bytes('2')), SYNCED);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(write()).rejects.toMatchObject({ code: 'storage-full', outcome: 'not-applied' });
      expect(storage.health().kind).toBe('full');
      expect(string(storage.get(bytes('a')))).toBe('1');
      expect(string(snapshot.get(bytes('a')))).toBe('1');
    }
    node.disk.adjust({ isFull: false });
    const written = write();
    while (storage.health().kind !== 'reopening') await simulation.clock.sleep(1);
    expect(() => storage.get(bytes('a'))).toThrow(/is being reopened/);
    expect(() => snapshot.get(bytes('a'))).toThrow(/has been reopened/);
    const found: (string | undefined)[] = [];
    for await (const { value } of storage.range()) found.push(string(value));
    expect(found).toEqual(['1']); // a range waits instead
    await written;
    expect(storage.health().kind).toBe('ok');
    expect(string(storage.get(bytes('a')))).toBe('2');
  }));

test('K16 a disk that fills up again during the reopening can be read when there is space', () =>
  withDisk(1, async ({ node, store, simulation }) => {
    const storage = await store();
    await storage.write(new StorageBatch().put(bytes('a'), bytes('1')), SYNCED);
    const write = () => storage.write(new StorageBatch().put(bytes('a'), bytes('2')), SYNCED);
    node.disk.adjust({ isFull: true });
    await expect(write()).rejects.toMatchObject({ code: 'storage-full' });
    node.disk.adjust({ isFull: false });
    const refused = expect(write()).rejects.toMatchObject({ code: 'storage-full' });
    while (storage.health().kind !== 'reopening') await simulation.clock.sleep(1);
    node.disk.adjust({ isFull: true });
    await refused;
    expect(() => storage.get(bytes('a'))).toThrow(/cannot be reopened: no space/);
    await expect(storage.whenReadable()).rejects.toMatchObject({ code: 'unavailable' });
    node.disk.adjust({ isFull: false });
    await storage.whenReadable();
    expect(string(storage.get(bytes('a')))).toBe('1');
    await write();
    expect(string(storage.get(bytes('a')))).toBe('2');
  }));

test('a failed sync is final for the process, and its batch may turn up later', async () => {
  const outcomes = new Set<string | undefined>();
  for (let seed = 0; seed < 20; seed += 1) {
    await withDisk(seed, async ({ node, store }) => {
      const storage = await store();
      node.disk.adjust({ syncFailureProbability: 1 });
      const write = (value: string) =>
        storage.write(new StorageBatch().put(bytes('a'), bytes(value)), SYNCED);
      await expect(write('first')).rejects.toMatchObject({
        code: 'storage-failed',
        outcome: 'unknown',
      });
      node.disk.adjust({ syncFailureProbability: 0 });
      await expect(write('second')).rejects.toMatchObject({
        code: 'storage-failed',
        outcome: 'not-applied',
      });
      expect(storage.health().kind).toBe('failed');
      expect(storage.get(bytes('a'))).toBeUndefined();
      node.kill();
      outcomes.add(string((await store()).get(bytes('a'))));
    });
  }
  expect(outcomes).toEqual(new Set([undefined, 'first']));
});

test('a slow disk takes up to the time that was set', () =>
  withDisk(1, async ({ node, store, simulation }) => {
    const storage = await store();
    node.disk.adjust({ slowProbability: 1, slowMsMax: 2000 });
    const times: number[] = [];
    for (let count = 0; count < 40; count += 1) {
      const startMs = simulation.nowMs;
      await storage.write(new StorageBatch().put(bytes('a'), bytes('x')), BUFFERED);
      times.push(simulation.nowMs - startMs);
    }
    expect(Math.min(...times)).toBeGreaterThanOrEqual(1);
    expect(Math.min(...times)).toBeLessThan(10);
    expect(Math.max(...times)).toBeGreaterThan(500);
    expect(Math.max(...times)).toBeLessThanOrEqual(2000);
  }));

test('K84 synced content under a synced name survives, everything else may or may not, independently', async () => {
  const leftOvers = new Set<string>();
  for (let seed = 0; seed < 60; seed += 1) {
    await withDisk(seed, async ({ node, ports }) => {
      const { files } = await ports();
      await files.append('kept', bytes('synced'));
      await files.sync('kept');
      await files.syncDir('.');
      await files.append('kept', bytes('+tail'));
      await files.append('fresh', bytes('new'));
      await files.sync('fresh');
      node.losePower();
      const { files: after } = await ports();
      const kept = string(await after.readAt('kept', 0, 100)) ?? '';
      const tail = kept.slice('synced'.length);
      expect(kept.startsWith('synced')).toBe(true);
      expect('+tail'.startsWith(tail) || '\0\0\0\0\0'.startsWith(tail)).toBe(true);
      const fresh = (await after.stat('fresh')) === undefined ? 'gone' : 'there';
      leftOvers.add(`${kept} ${fresh}`);
    });
  }
  expect(leftOvers).toContain('synced gone');
  expect(leftOvers).toContain('synced+tail there');
  expect([...leftOvers].some((kept) => kept.includes('\0'))).toBe(true); // a lost page
  expect(leftOvers.size).toBeGreaterThan(6); // torn tails
});

test('K84 a name that is added while its directory is synced is not durable yet', async () => {
  const found = new Set<string>();
  for (let seed = 0; seed < 20; seed += 1) {
    await withDisk(seed, async ({ node, ports }) => {
      const { files } = await ports();
      files.openAppend('before');
      const synced = files.syncDir('.');
      files.openAppend('meanwhile');
      await synced;
      node.losePower();
      found.add((await (await ports()).files.list('.')).join());
    });
  }
  expect(found).toEqual(new Set(['before', 'before,meanwhile']));
});

test('K86 a power loss leaves holes in what was not synced, and any length', async () => {
  const page = 4096;
  const left = new Set<string>();
  for (let seed = 0; seed < 100; seed += 1) {
    await withDisk(seed, async ({ node, ports }) => {
      const { files } = await ports();
      const handle = files.openAppend('log');
      handle.append([new Uint8Array(page).fill(1)]);
      await handle.sync();
      await files.syncDir('.');
      for (const value of [2, 3, 4]) handle.append([new Uint8Array(page).fill(value)]);
      node.losePower();
      const content = await (await ports()).files.readAt('log', 0, 5 * page);
      expect(content.length).toBeGreaterThanOrEqual(page);
      expect(content[page - 1]).toBe(1);
      left.add([1, 2, 3].map((index) => content[index * page] ?? '-').join(''));
    });
  }
  for (const expected of ['---', '234', '2--', '23-', '034', '204', '230', '000']) {
    expect(left).toContain(expected);
  }
});

test('K84 a rename is durable with its directory, and never leaves a file without a name', async () => {
  const names = new Set<string>();
  for (let seed = 0; seed < 30; seed += 1) {
    await withDisk(seed, async ({ node, ports }) => {
      const { files } = await ports();
      await files.makeDir('d');
      await files.append('d/old', bytes('content'));
      await files.sync('d/old');
      await files.syncDir('d');
      await files.syncDir('.');
      await files.rename('d/old', 'd/new');
      node.losePower();
      const { files: after } = await ports();
      const found = await after.list('d');
      names.add(found.join());
      expect(string(await after.readAt(`d/${found[0]}`, 0, 100))).toBe('content');
      await after.rename(`d/${found[0]}`, 'd/last');
      await after.syncDir('d');
      node.losePower();
      expect(await (await ports()).files.list('d')).toEqual(['last']);
    });
  }
  expect(names).toEqual(new Set(['old', 'new']));
});

test('a failed sync of a file is final, and what it left in doubt may be torn', async () => {
  const lengths = new Set<number>();
  for (let seed = 0; seed < 30; seed += 1) {
    await withDisk(seed, async ({ node, ports }) => {
      const { files } = await ports();
      await files.append('log', bytes('0123456789'));
      node.disk.adjust({ syncFailureProbability: 1 });
      await expect(files.sync('log')).rejects.toMatchObject({ code: 'storage-failed' });
      node.disk.adjust({ syncFailureProbability: 0 });
      await expect(files.sync('log')).rejects.toMatchObject({ code: 'storage-failed' });
      node.kill();
      lengths.add((await (await ports()).files.stat('log'))?.bytes ?? -1);
    });
  }
  expect(lengths.size).toBeGreaterThan(5);
});

test('a full disk accepts part of an append and lets files be removed', () =>
  withDisk(1, async ({ node, ports }) => {
    const { files } = await ports();
    node.disk.adjust({ isFull: true });
    await expect(files.append('log', bytes('0123'))).rejects.toMatchObject({
      code: 'storage-full',
    });
    expect((await files.stat('log'))?.bytes).toBe(2);
    await expect(files.makeDir('d')).rejects.toMatchObject({ code: 'storage-full' });
    await files.remove('log');
  }));

test('a custom plan ends the process at any boundary, before or after the operation', async () => {
  const stateAfterCrash = async (index: number, moment: 'verdict' | 'done') => {
    let found = '';
    await withDisk(1, async ({ node, ports, simulation }) => {
      const { files } = await ports();
      node.disk.plan = new CrashingPlan(node, { index, moment });
      const write = async () => {
        await files.append('new', bytes('content'));
        await files.sync('new');
        await files.rename('new', 'current');
        await files.syncDir('.');
      };
      void write();
      while (node.state !== 'down') await simulation.clock.sleep(1);
      found = (await (await ports()).files.list('.')).join();
    });
    return found;
  };
  expect(await stateAfterCrash(1, 'verdict')).toBe('');
  expect(await stateAfterCrash(1, 'done')).toBe('new');
  expect(await stateAfterCrash(3, 'verdict')).toBe('new');
  expect(await stateAfterCrash(3, 'done')).toBe('current');
});

/** Kills the node at one numbered operation. */
class CrashingPlan extends SeededDiskPlan {
  readonly #node: SimNode;
  readonly #point: { readonly index: number; readonly moment: 'verdict' | 'done' };

  constructor(node: SimNode, point: { index: number; moment: 'verdict' | 'done' }) {
    super(createSeededRandom(1));
    this.#node = node;
    this.#point = point;
  }

  override verdict(operation: DiskOperation): 'ok' | 'full' | 'failed' {
    this.#killAt(operation, 'verdict');
    return 'ok';
  }

  override done(operation: DiskOperation): void {
    this.#killAt(operation, 'done');
  }

  #killAt({ index }: DiskOperation, moment: 'verdict' | 'done'): void {
    if (index === this.#point.index && moment === this.#point.moment) this.#node.kill();
  }
}
