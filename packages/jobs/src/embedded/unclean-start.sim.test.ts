// A removal that was only buffered can be lost in a power loss: then the record is back, although compaction has
// already passed it.
import type { Storage } from '@syncline/kernel';
import {
  createSeededRandom,
  type PowerLoss,
  SeededDiskPlan,
  type SimNode,
  type SimPorts,
  Simulation,
} from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { createJob, JOB_ID, TaskWriter } from '../conformance/job-samples.js';
import { type EmbeddedJobStoreOptions, openEmbeddedJobStore } from './embedded-adapter.js';

const LITTLE_ROOM = { retentionRevisionsMax: 1, compactionKeysMax: 1 };
const COMPACTION_MS = 100;

/** Nothing unsynced survives a power loss. */
class ForgetfulDisk extends SeededDiskPlan {
  override losePower(): PowerLoss {
    return { survives: () => false, survivingBytes: () => 0 };
  }
}

class Machine {
  readonly simulation = new Simulation({ seed: 1 });
  readonly #node: SimNode;
  #ports: SimPorts | undefined;

  constructor() {
    this.#node = this.simulation.addNode('store', (ports) => {
      this.#ports = ports;
    });
    this.#node.disk.plan = new ForgetfulDisk(createSeededRandom(1));
  }

  get clock() {
    return this.simulation.clock;
  }

  /** A new process, after a power loss if there was one before. */
  async start(options: EmbeddedJobStoreOptions = LITTLE_ROOM) {
    this.#node.losePower();
    this.#node.start();
    await this.clock.sleep(1);
    const ports = this.#ports;
    if (!ports) throw new Error('the machine has not booted');
    const storage = await ports.openStorage('jobs');
    const store = await openEmbeddedJobStore({ ...ports, storage }, options);
    return { store, storage };
  }

  /** Cell `a` has a first record that compaction has passed; then a buffered write has replaced and removed it. */
  async startWithLostRemoval() {
    const { store, storage } = await this.start();
    const writer = await TaskWriter.claim(store, await createJob(store));
    await writer.set('a', 1);
    for (const status of [1, 2, 3]) await writer.set('b', status);
    await this.clock.sleep(COMPACTION_MS);
    await writer.set('b', 4, { durability: 'buffered' }); // the first one is synced, with the mark
    await this.clock.sleep(COMPACTION_MS);
    await writer.set('a', 2, { durability: 'buffered' });
    return { store, storage, writer };
  }
}

async function countRecords(storage: Storage): Promise<number> {
  let count = 0;
  for await (const { key } of storage.range()) if (key[0] === 'l'.charCodeAt(0)) count += 1;
  return count;
}

describe('a record that is back after a power loss', () => {
  test('J3 is removed for good if its job was deleted since', async () => {
    const machine = new Machine();
    await machine.simulation.run(async () => {
      const first = await machine.startWithLostRemoval();
      await first.store.deleteJob(JOB_ID);
      await machine.clock.sleep(COMPACTION_MS);
      expect(await countRecords(first.storage)).toBe(0);
      const { store, storage } = await machine.start();
      await machine.clock.sleep(COMPACTION_MS);
      expect(await countRecords(storage)).toBe(0);
      expect(store.status()).toMatchObject({ deletions: 0, logRecords: 0, jobs: 0 });
    });
  });

  test('J3 is counted, and compacted once more', async () => {
    const machine = new Machine();
    await machine.simulation.run(async () => {
      const first = await machine.startWithLostRemoval();
      await first.writer.set('a', 3);
      await machine.clock.sleep(COMPACTION_MS);
      const { store, storage } = await machine.start();
      expect(store.status().logRecords).toBe(await countRecords(storage));
      const found = await store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 10 });
      expect(found.states).toMatchObject([
        { tag: 'b', status: 4 },
        { tag: 'a', status: 3, version: 3 },
      ]);
      const job = await store.getJob(JOB_ID);
      if (!job) throw new Error('the job is gone');
      const writer = await TaskWriter.claim(store, job);
      await writer.set('a', 4);
      await machine.clock.sleep(COMPACTION_MS);
      // The latest of a, b, the lease and the metadata.
      expect([await countRecords(storage), store.status().logRecords]).toEqual([4, 4]);
    });
  });
});

test('J3 a synced repeat of a buffered write is as durable as it asks, in the same commit or a later one', async () => {
  const machine = new Machine();
  await machine.simulation.run(async () => {
    const { store } = await machine.start();
    const writer = await TaskWriter.claim(store, await createJob(store));
    await writer.set('a', 1, { durability: 'buffered' }); // synced, with the mark and the first write of its tag
    await writer.set('b', 1);
    const send = (tag: string, durability: 'buffered' | 'synced') =>
      store.setState({ ...writer.write(tag, 2), eventId: `second-${tag}`, durability });
    await send('a', 'buffered');
    const [together] = await Promise.all([send('b', 'buffered'), send('b', 'synced')]);
    expect(together).toMatchObject({ applied: true, duplicate: false });
    expect(await send('a', 'synced')).toMatchObject({ applied: true, duplicate: true });
    const after = (await machine.start()).store;
    expect(await after.getState(JOB_ID, 0, 'a')).toMatchObject({ status: 2, version: 2 });
    expect(await after.getState(JOB_ID, 0, 'b')).toMatchObject({ status: 2, version: 2 });
  });
});

test('repeats force the storage to write its memory only if there are buffered writes in it', async () => {
  const machine = new Machine();
  await machine.simulation.run(async () => {
    const { store, storage } = await machine.start({}); // compactions would be synced, with the writes beside them
    const writer = await TaskWriter.claim(store, await createJob(store));
    const secure = storage.secure.bind(storage);
    let secured = 0;
    storage.secure = () => {
      secured += 1;
      return secure();
    };
    const repeat = { ...writer.write('a', 1), eventId: 'first' };
    await store.setState(repeat);
    for (let round = 1; round <= 2; round += 1) {
      for (const status of [2, 3]) await writer.set('a', status, { durability: 'buffered' });
      for (let repeats = 0; repeats < 3; repeats += 1)
        expect(await store.setState(repeat)).toMatchObject({ duplicate: true });
      expect(secured).toBe(round);
    }
  });
});
