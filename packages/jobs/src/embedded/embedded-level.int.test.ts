// The embedded store on LevelDB: everything is still there when it is reopened.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { openLevelStorage } from '@syncline/kernel/level';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createStaffedJob, JOB_ID } from '../conformance/job-samples.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';

const clock = createSystemClock();
const options = { retentionRevisionsMax: 50, compactionKeysMax: 20, memoryRevisionsMax: 10 };
let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'syncline-jobs-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

async function open() {
  const logger = silentLogger;
  const storage = await openLevelStorage({ clock, logger }, { directory });
  const deps = { storage, clock, random: createSystemRandom(), logger, metrics: silentMetrics };
  const store = await openEmbeddedJobStore(deps, options);
  const close = async () => {
    await store.close();
    await storage.close();
  };
  return { store, close };
}

test('states, leases, deletions and cursors are as they were after a restart', async () => {
  const first = await open();
  const { writers } = await createStaffedJob(first.store, { numTasks: 5, expectedTags: ['a'] });
  const follower = new StreamReader({ store: first.store, clock });
  await follower.untilKind('synced');
  for (let round = 1; round <= 40; round += 1) {
    const payload = { round, text: 'ü'.repeat(round) };
    const durability = round % 2 === 0 ? 'synced' : 'buffered';
    await Promise.all(
      writers.map((writer) => writer.set(`tag ${round % 3}`, round, { payload, durability })),
    );
  }
  const progress = await first.store.aggregate(JOB_ID, {});
  await follower.untilRevision(progress.revision);
  const { cursor } = follower;
  await createStaffedJob(first.store, { jobId: 'gone' });
  await first.store.deleteJob('gone');
  await first.close();
  const second = await open();
  expect(await second.store.aggregate(JOB_ID, {})).toEqual(progress);
  expect((await second.store.listJobs({})).jobs.map(({ job }) => job.jobId)).toEqual([JOB_ID]);
  if (!cursor) throw new Error('it has read something');
  const resumed = new StreamReader({ store: second.store, clock }, { after: cursor });
  const [synced] = await resumed.untilKind('synced');
  expect(synced).toMatchObject({ kind: 'synced', resumed: true, revision: progress.revision });
  const [writer] = writers;
  if (!writer) throw new Error('there are five');
  const again = await second.store.setState(writer.write('tag 1', 99));
  expect(again).toMatchObject({ applied: true, duplicate: false });
  const replay = new StreamReader({ store: second.store, clock });
  const events = await replay.untilKind('synced');
  expect(events).toHaveLength(5 * 3 + 1);
  const oldest = events.find((event) => event.kind === 'snapshot');
  expect(oldest?.state.payload).toMatchObject({ round: 38 });
  await second.close();
});
