// A disk without room for a while: writes are refused then, and go on as soon as there is room.
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from './byte-list.js';
import { openEngine } from './open-engine.js';

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
