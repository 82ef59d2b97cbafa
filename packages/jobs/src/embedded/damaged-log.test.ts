// Records of the log that cannot be read: those that are the latest of a key, and those that were replaced.
import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  StorageBatch,
  silentLogger,
} from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { at, createStaffedJob, JOB_ID } from '../conformance/job-samples.js';
import { isRefused } from '../conformance/refused.js';
import { StreamReader } from '../conformance/stream-reader.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';
import { corruptRow, logKey } from './rows.js';

const clock = createSystemClock();
const metrics = { add() {}, set() {}, observe() {} };
const PAGE = { afterRevision: 0, limit: 10 };

type Damage = 'its seal is wrong' | 'the storage cannot read it';

/** Revision 1 is the job, 2 and 3 are claims, 4 is (0, a) = 1, 5 is (0, a) = 2, 6 is (1, a) = 3. */
async function damagedAt(revision: number, how: Damage) {
  const storage = createMemoryStorage();
  const deps = { storage, clock, random: createSystemRandom(), logger: silentLogger, metrics };
  const store = await openEmbeddedJobStore(deps);
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  await at(writers, 0).set('a', 1);
  await at(writers, 0).set('a', 2);
  await at(writers, 1).set('a', 3);
  const damaged = logKey(1, revision);
  if (how === 'its seal is wrong') {
    const value = storage.get(damaged);
    if (!value) throw new Error('there is no such record');

    await storage.write(new StorageBatch().put(damaged, Uint8Array.of(0xff)), {
      durability: 'synced',
    });
  } else {
    const snapshot = storage.snapshot.bind(storage);
    storage.snapshot = () => {
      const inner = snapshot();
      const range = inner.range.bind(inner);
      inner.range = (options) => {
        const rows = range(options);
        async function* batches() {
          for await (const entries of rows.batches()) {
            if (entries.some(({ key }) => Buffer.compare(key, damaged) === 0))
              throw corruptRow(damaged);
            yield entries;
          }
        }
        return { ...rows, batches };
      };
      return inner;
    };
  }
  return { store, writers, [Symbol.asyncDispose]: () => store.close() };
}

describe.each(['its seal is wrong', 'the storage cannot read it'] as const)(
  'a record of the log is damaged: %s',
  (how) => {
    test('a replaced one does not affect readers of the latest states', async () => {
      await using opened = await damagedAt(4, how);
      const { states } = await opened.store.listStates(JOB_ID, {}, PAGE);
      expect(states.map(({ status }) => status)).toEqual([2, 3]);
      const events = await new StreamReader({ store: opened.store, clock }).untilKind('synced');
      expect(events.map(({ kind }) => kind)).toEqual(['snapshot', 'snapshot', 'synced']);
    });

    test('the latest one of its key is corrupt', async () => {
      await using opened = await damagedAt(5, how);
      await isRefused(opened.store.listStates(JOB_ID, {}, PAGE), 'corrupt');
      await isRefused(
        new StreamReader({ store: opened.store, clock }).untilKind('synced'),
        'corrupt',
      );
    });

    test('one of a lease only affects readers that include leases', async () => {
      await using opened = await damagedAt(2, how);
      const { store } = opened;
      expect((await store.listStates(JOB_ID, {}, PAGE)).states.length).toBe(2);
      const reader = new StreamReader({ store, clock }, { include: ['lease'] });
      await isRefused(reader.untilKind('synced'), 'corrupt');
    });
  },
);
