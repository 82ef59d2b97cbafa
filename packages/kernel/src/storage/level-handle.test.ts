// What no other test can see without losing power: which writes LevelDB is asked to sync.
import { describe, expect, it, vi } from 'vitest';
import { LevelHandle } from './level-handle.js';
import type { Durability } from './storage.js';
import { StorageBatch } from './storage-batch.js';

const calls = vi.hoisted(() => [] as string[]);

vi.mock('./level-open.js', () => ({
  openLevel: async () => ({
    batch: () => ({
      put: (key: Uint8Array, sealed: Uint8Array) =>
        calls.push(`put ${Buffer.from(key).toString()} ${sealed.length}`),
      del: (key: Uint8Array) => calls.push(`del ${Buffer.from(key).toString()}`),
      write: async (options: { sync: boolean }) => calls.push(`write sync=${options.sync}`),
    }),
  }),
}));

async function callsOf(durability: Durability): Promise<readonly string[]> {
  calls.length = 0;
  const handle = await LevelHandle.open('/data');
  const batches = [
    new StorageBatch().put(Buffer.from('a'), new Uint8Array(10)).delete(Buffer.from('b')),
    new StorageBatch().put(Buffer.from('c'), new Uint8Array(0)),
  ];
  const written = handle.write({ batches, bytes: 13, durability });
  const before = [...calls]; // all of it is handed over before the call returns
  await written;
  expect(before).toEqual(calls);
  return [...calls];
}

describe('LevelHandle', () => {
  it('K15 asks for a sync when the group is synced, and only then', async () => {
    const content = ['put a 14', 'del b', 'put c 4'];
    expect(await callsOf('synced')).toEqual([...content, 'write sync=true']);
    expect(await callsOf('buffered')).toEqual([...content, 'write sync=false']);
  });
});
