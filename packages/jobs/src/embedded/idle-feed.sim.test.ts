// What stays in memory after the subscribers of a job have left.
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { at, createStaffedJob, JOB_ID } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';

const SWEEP_MS = 60_000;

test('changes kept for subscribers are freed some time after the last one has left', () =>
  runInSimulation(1, async (world) => {
    const storage = await world.openStorage('jobs');
    const store = await openEmbeddedJobStore({ ...world, storage });
    const { writers } = await createStaffedJob(store);
    const reader = new StreamReader({ store, clock: world.clock });
    await reader.untilKind('synced');
    const before = store.status().cacheBytes;
    const message = 'm'.repeat(4_000);
    for (let status = 1; status <= 20; status += 1) {
      await at(writers, 0).set('a', status, { message });
    }
    await world.clock.sleep(SWEEP_MS);
    expect(store.status().cacheBytes).toBeGreaterThan(before + 80_000); // there is a subscriber
    const { cursor } = reader;
    await reader[Symbol.asyncDispose]();
    await world.clock.sleep(SWEEP_MS);
    expect(store.status().cacheBytes).toBeLessThan(before + 10_000);
    const last = await at(writers, 0).set('a', 21);
    if (!cursor) throw new Error('it has read something');
    const again = new StreamReader({ store, clock: world.clock }, { after: cursor });
    const events = await again.untilRevision(last.revision);
    expect(events.filter(({ kind }) => kind === 'gap')).toEqual([]);
    expect(events.at(-1)).toMatchObject({ kind: 'change', state: { status: 21 } });
    expect((await store.getJob(JOB_ID))?.revision).toBe(last.revision);
  }));
