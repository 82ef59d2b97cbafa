// Deleted jobs of whose rows some cannot be read.
import { type Storage, SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { at, createStaffedJob } from '../conformance/job-samples.js';
import { KeyKind, logKey } from './keys.js';
import { openEmbeddedJobStore } from './open-embedded-job-store.js';
import { corruptRow } from './row-reader.js';

/** Ranges that hold the key fail with this error, until the key is gone. */
function failAt(storage: Storage, failing: Uint8Array, error: SynclineError): void {
  const range = storage.range.bind(storage);
  storage.range = (options) => {
    const inner = range(options);
    async function* batches() {
      for await (const entries of inner.batches()) {
        if (entries.some(({ key }) => Buffer.compare(key, failing) === 0)) throw error;
        yield entries;
      }
    }
    return { ...inner, batches };
  };
}

async function logRecords(storage: Storage, jobNo: number): Promise<number> {
  let count = 0;
  for await (const { key } of storage.range()) {
    if (key[0] === KeyKind.log && Buffer.compare(key, logKey(jobNo, 0)) > 0) count += 1;
  }
  return count;
}

test('a damaged row of a deleted job goes with the others', () =>
  runInSimulation(1, async (world) => {
    const storage = await world.openStorage('jobs');
    const store = await openEmbeddedJobStore({ ...world, storage }, { compactionKeysMax: 3 });
    for (const jobId of ['a', 'b']) {
      const { writers } = await createStaffedJob(store, { jobId });
      await at(writers, 0).set('tag', 1);
    }
    failAt(storage, logKey(1, 2), corruptRow(logKey(1, 2)));
    for (const jobId of ['a', 'b']) await store.deleteJob(jobId);
    await world.clock.sleep(1_000);
    expect(store.status().deletions).toBe(0);
    expect(await logRecords(storage, 1)).toBe(0);
    await store.close();
  }));

test('a deletion that fails holds up no other', () =>
  runInSimulation(1, async (world) => {
    const storage = await world.openStorage('jobs');
    const store = await openEmbeddedJobStore({ ...world, storage });
    for (const jobId of ['a', 'b']) await createStaffedJob(store, { jobId });
    failAt(storage, logKey(1, 2), new SynclineError('unavailable', 'for a while'));
    for (const jobId of ['a', 'b']) await store.deleteJob(jobId);
    await world.clock.sleep(10_000);
    expect(store.status().deletions).toBe(1);
    expect(await logRecords(storage, 2)).toBe(0);
    await store.close();
  }));
