// An emptied data directory is a different store: what the earlier one issued must not be valid there.
import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { at, createStaffedJob, JOB_ID } from '../conformance/job-samples.js';
import { isRefused } from '../conformance/refused.js';
import type { JobStore } from '../job-store.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';

function openEmpty(): Promise<JobStore> {
  const deps = {
    storage: createMemoryStorage(),
    clock: createSystemClock(),
    random: createSystemRandom(),
    logger: silentLogger,
    metrics: silentMetrics,
  };
  return openEmbeddedJobStore(deps);
}

test('J13 a manager of the wiped store is fenced, although job number and epoch are the same', async () => {
  await using before = await openEmpty();
  await using after = await openEmpty();
  const old = await createStaffedJob(before, { numTasks: 1 });
  const renewed = await createStaffedJob(after, { numTasks: 1 });
  await at(renewed.writers, 0).set('a', 1);
  const write = { taskId: 0, tag: 'a', status: 9, message: '', schemaVersion: 1 };
  const { incarnation } = old.job;
  const late = { ...write, jobId: JOB_ID, incarnation, epoch: 1, eventId: 'late' };
  await isRefused(after.setState(late), 'fenced');
});

test('J9 a cursor of the wiped store resets', async () => {
  await using before = await openEmpty();
  await using after = await openEmpty();
  for (const store of [before, after]) await createStaffedJob(store, { numTasks: 1 });
  const [first] = await firstEvents(before.subscribe(JOB_ID, { scope: {} }));
  if (first?.kind !== 'synced') throw new Error('an empty scope begins with synced');
  const [resumed] = await firstEvents(after.subscribe(JOB_ID, { scope: {}, after: first.cursor }));
  expect(resumed).toMatchObject({ kind: 'gap', reason: 'reset' });
});

async function firstEvents(subscription: ReturnType<JobStore['subscribe']>) {
  for await (const events of subscription.batches()) return events;
  return [];
}
