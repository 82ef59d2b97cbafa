// What no other test can see: which writes LevelDB is asked to sync, and how a large one is split.
import { describe, expect, it } from 'vitest';
import { kernelLimits } from '../limits.js';
import { LevelHandle } from './level-handle.js';
import type { LevelDatabase } from './level-open.js';
import type { Durability } from './storage.js';
import { StorageBatch } from './storage-batch.js';

/** The part of LevelDB that a write uses; it records its calls. */
function tracedDatabase(calls: string[]): LevelDatabase {
  const put = (key: Uint8Array, sealed: Uint8Array) => {
    calls.push(`put ${key.join()} ${sealed.length}`);
  };
  const del = (key: Uint8Array) => {
    calls.push(`del ${key.join()}`);
  };
  const chained = {
    length: 0,
    // As in the library: a batch without operations is not written.
    put: (key: Uint8Array, sealed: Uint8Array) => {
      chained.length += 1;
      put(key, sealed);
    },
    del: (key: Uint8Array) => {
      chained.length += 1;
      del(key);
    },
    _put: put,
    _del: del,
    write: async ({ sync }: { sync: boolean }) => {
      if (chained.length > 0) calls.push(`write sync=${sync}`);
    },
    close: async () => {
      calls.push('close');
    },
  };
  return {
    batch: () => chained,
    close: async () => {},
    getSync: () => undefined,
    del: async (_key: Uint8Array, { sync }: { sync: boolean }) => {
      calls.push(`del sync=${sync}`);
    },
    compactRange: async () => {
      calls.push('compact');
    },
  } as unknown as LevelDatabase;
}

/** Its turns end when the test says so. */
function createHandle() {
  const calls: string[] = [];
  const deferred: (() => void)[] = [];
  const clock = {
    defer: (callback: () => void) => {
      deferred.push(callback);
      return { cancel: () => {} };
    },
  };
  const handle = new LevelHandle(
    { clock },
    { directory: '/data', database: tracedDatabase(calls) },
  );
  const turn = async () => {
    deferred.shift()?.();
    for (let step = 0; step < 5; step += 1) await Promise.resolve();
  };
  return { handle, calls, deferred, turn };
}

function numbered(count: number, valueBytes = 1): StorageBatch {
  const batch = new StorageBatch();
  for (let index = 0; index < count; index += 1) {
    batch.put(Uint8Array.of(index >> 8, index), new Uint8Array(valueBytes));
  }
  return batch;
}

async function callsOf(durability: Durability): Promise<readonly string[]> {
  const { handle, calls } = createHandle();
  const batches = [
    new StorageBatch().delete(Uint8Array.of(2)).put(Uint8Array.of(1), new Uint8Array(10)),
    new StorageBatch().delete(Uint8Array.of(4)).put(Uint8Array.of(3), new Uint8Array(0)),
  ];
  const write = await handle.prepare({ batches, bytes: 14, durability });
  await write();
  return calls;
}

describe('LevelHandle', () => {
  it('K15 asks for a sync when the group is synced, and only then', async () => {
    const content = ['del 2', 'put 1 14', 'del 4', 'put 3 4'];
    expect(await callsOf('synced')).toEqual([...content, 'write sync=true']);
    expect(await callsOf('buffered')).toEqual([...content, 'write sync=false']);
  });

  it('K15 secures between two synced writes: a compaction does not report what failed', async () => {
    const { handle, calls } = createHandle();
    const secure = await handle.prepare({ batches: [], bytes: 0, durability: 'secured' });
    expect(calls).toEqual([]);
    await secure();
    expect(calls).toEqual(['del sync=true', 'compact', 'del sync=true']);
  });

  it('passes a large group on in slices, a turn apart, and writes it when it is complete', async () => {
    const { handle, calls, turn } = createHandle();
    const operationsMax = kernelLimits.storageSliceOperationsMax.value;
    const batches = [numbered(operationsMax + 10), numbered(operationsMax)];
    const prepared = handle.prepare({ batches, bytes: 0, durability: 'synced' });
    expect(calls.length).toBe(operationsMax);
    await turn();
    expect(calls.length).toBe(2 * operationsMax);
    await turn();
    expect(calls.length).toBe(2 * operationsMax + 10);
    const last = operationsMax - 1;
    expect(calls.at(-1)).toBe(`put ${last >> 8},${last & 0xff} 5`);
    await (await prepared)();
    expect(calls.at(-1)).toBe('write sync=true');
  });

  it('splits by bytes too', async () => {
    const { handle, calls, turn } = createHandle();
    const valueBytes = kernelLimits.storageSliceBytesMax.value / 2;
    const batches = [numbered(3, valueBytes)];
    const prepared = handle.prepare({ batches, bytes: 0, durability: 'buffered' });
    expect(calls.length).toBe(2);
    await turn();
    expect(calls.length).toBe(3);
    await prepared;
  });

  it('writes nothing of a group if the store is closed half way', async () => {
    const { handle, calls, turn } = createHandle();
    const batches = [numbered(kernelLimits.storageSliceOperationsMax.value + 1)];
    const prepared = handle.prepare({ batches, bytes: 0, durability: 'synced' });
    const refused = expect(prepared).rejects.toMatchObject({ code: 'closed' });
    await handle.close();
    await turn();
    await refused;
    expect(calls.at(-1)).toBe('close');
    expect(calls.filter((call) => call.startsWith('write'))).toEqual([]);
  });
});
