// What no other test can see without losing power: which writes LevelDB is asked to sync.
import { describe, expect, it } from 'vitest';
import { LevelHandle } from './level-handle.js';
import type { LevelDatabase } from './level-open.js';
import type { Durability } from './storage.js';
import { StorageBatch } from './storage-batch.js';

/** Of a LevelDB only what a write uses; it notes what it is asked. */
function tracedDatabase(calls: string[]): LevelDatabase {
  const chained = {
    put: (key: Uint8Array, sealed: Uint8Array) => calls.push(`put ${key.join()} ${sealed.length}`),
    del: (key: Uint8Array) => calls.push(`del ${key.join()}`),
    write: async (options: { sync: boolean }) => calls.push(`write sync=${options.sync}`),
  };
  return { batch: () => chained } as unknown as LevelDatabase;
}

async function callsOf(durability: Durability): Promise<readonly string[]> {
  const calls: string[] = [];
  const handle = new LevelHandle('/data', tracedDatabase(calls));
  const batches = [
    new StorageBatch().put(Uint8Array.of(1), new Uint8Array(10)).delete(Uint8Array.of(2)),
    new StorageBatch().put(Uint8Array.of(3), new Uint8Array(0)),
  ];
  const written = handle.write({ batches, bytes: 13, durability });
  const before = [...calls]; // all of it is handed over before the call returns
  await written;
  expect(before).toEqual(calls);
  return calls;
}

describe('LevelHandle', () => {
  it('K15 asks for a sync when the group is synced, and only then', async () => {
    const content = ['put 1 14', 'del 2', 'put 3 4'];
    expect(await callsOf('synced')).toEqual([...content, 'write sync=true']);
    expect(await callsOf('buffered')).toEqual([...content, 'write sync=false']);
  });
});
