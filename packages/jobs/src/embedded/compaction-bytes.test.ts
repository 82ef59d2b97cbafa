// How large a batch of compaction becomes that writes buffered records once more.
import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  silentLogger,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { createJob, JOB_ID, TaskWriter } from '../conformance/job-samples.js';
import { eventually } from '../conformance/stream-reader.js';
import { jobsLimits } from '../limits.js';
import { openEmbeddedJobStore } from './open-embedded-job-store.js';

const TAGS = 100;
const PAYLOAD = { text: 'p'.repeat(60_000) };

test('J20 a step ends at commitBytesMax bytes of records that it writes once more', async () => {
  const clock = createSystemClock();
  const storage = createMemoryStorage();
  const batchBytes: number[] = [];
  const write = storage.write.bind(storage);
  storage.write = (batch, options) => {
    batchBytes.push(batch.bytes);
    return write(batch, options);
  };
  const metrics = { add() {}, set() {}, observe() {} };
  const deps = { storage, clock, random: createSystemRandom(), logger: silentLogger, metrics };
  const store = await openEmbeddedJobStore(deps, {
    retentionRevisionsMax: 2 * TAGS,
    compactionKeysMax: 2 * TAGS,
  });
  const writer = await TaskWriter.claim(store, await createJob(store));
  for (const message of ['first', 'second']) {
    for (let tag = 0; tag < TAGS; tag += 1) {
      await writer.set(`tag ${tag}`, 1, { message, payload: PAYLOAD, durability: 'buffered' });
    }
  }
  batchBytes.length = 0;
  for (let round = 0; round < 4 * TAGS; round += 1) {
    await writer.set('last', round + 1, { durability: 'buffered' });
  }
  await eventually(clock, 'compaction', async () => store.status().logRecords <= 500 || undefined);
  expect(Math.max(...batchBytes)).toBeGreaterThan(1_000_000);
  expect(Math.max(...batchBytes)).toBeLessThan(jobsLimits.commitBytesMax.value + 200_000);
  const { message } = (await store.getState(JOB_ID, 0, 'tag 7')) ?? {};
  expect(message).toBe('second');
  await store.close();
});
