// A disk without room for a while: writes are refused then, and go on as soon as there is room.
import { type Storage, SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from './byte-list.js';
import { guardStorage } from './guarded-storage.js';
import { openEngine } from './open-engine.js';
import { KeyKind } from './state/storage-keys.js';

const list = (...texts: readonly string[]) =>
  ByteList.of(...texts.map((text) => Buffer.from(text)));

test('S7 who waits for room in the head goes on when a failed commit has left it', () =>
  runInSimulation(1, async (ports) => {
    const storage = await ports.openStorage('db');
    const engine = await openEngine({ ...ports, storage }, { nodeId: 1, clusterId: 'sim' });
    const { keyspace, state, folding } = engine;
    // As if one element filled the head: half a million would take seconds.
    Object.defineProperty(folding, 'fill', { get: () => state.headEntries });
    ports.node.disk.adjust({ isFull: true });
    keyspace.add(list('a', 'x'), 0, 1);
    const admitted = keyspace.admit('write');
    expect(admitted, 'the head is full').toBeDefined();
    await expect(engine.commits.allSettled()).rejects.toMatchObject({ code: 'storage-full' });
    await admitted;
    ports.node.disk.adjust({ isFull: false });
    keyspace.add(list('a', 'x'), 0, 1);
    await engine.commits.allSettled();
    await engine.stop();
  }));

test('a start does not wait for its fold, which goes on once there is room', () =>
  runInSimulation(1, async (ports) => {
    const storage = await ports.openStorage('db');
    const disk = { isFull: true };
    const write: Storage['write'] = async (batch, how) => {
      const isFold = batch.operations.some(({ key }) => key[0] === KeyKind.element);
      if (isFold && disk.isFull) throw new SynclineError('storage-full', 'no room');
      await storage.write(batch, how);
    };
    const deps = { ...ports, storage: { ...guardStorage(storage, () => {}), write } };
    const options = { nodeId: 1, clusterId: 'sim' };
    const before = await openEngine(deps, options);
    before.keyspace.add(list('a', 'x'), 0, 1);
    await before.commits.allSettled();
    before.dispose();
    const synced = openEngine(deps, { ...options, durability: 'synced' });
    await expect(synced, 'synced records lie behind no buffered ones').rejects.toThrow('no room');
    const engine = await openEngine(deps, options);
    expect(engine.keyspace.has(list('a', 'x'), 0, 1)).toBe(true);
    await ports.clock.sleep(2_000);
    expect(engine.state.headEntries).toBe(1);
    disk.isFull = false;
    await ports.clock.sleep(2_000);
    expect(engine.state.headEntries).toBe(0);
    await engine.stop();
  }));
