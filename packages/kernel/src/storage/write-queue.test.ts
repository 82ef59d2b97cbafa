import { describe, expect, it } from 'vitest';
import { SynclineError } from '../error.js';
import { StorageBatch } from './storage-batch.js';
import { type WriteGroup, WriteQueue } from './write-queue.js';

/** A queue whose commits settle when the test says so. */
function createQueue(options: { groupBytesMax?: number; queueBytesMax?: number } = {}) {
  const groups: (WriteGroup & { finish: (error?: SynclineError) => void })[] = [];
  const queue = new WriteQueue(
    {
      commit: (group) =>
        new Promise((resolve, reject) => {
          const finish = (error?: SynclineError) => (error ? reject(error) : resolve());
          groups.push({ ...group, finish });
        }),
    },
    { groupBytesMax: 1000, queueBytesMax: 1_000_000, ...options },
  );
  return { queue, groups };
}

function batchOf(name: string, bytes = 10): StorageBatch {
  return new StorageBatch().put(Buffer.from(name), new Uint8Array(bytes - name.length));
}

function namesOf(group: WriteGroup | undefined): string {
  const names = group?.batches.flatMap(({ operations }) => operations.map(({ key }) => key));
  return (names ?? []).map((key) => Buffer.from(key).toString()).join(' ');
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

describe('WriteQueue', () => {
  it('passes the first write on immediately, and joins those that arrive in the meantime', async () => {
    const { queue, groups } = createQueue();
    const writes = ['a', 'b', 'c'].map((name) => queue.push(batchOf(name), 'buffered'));
    expect(groups.map(namesOf)).toEqual(['a']);
    groups[0]?.finish();
    await turns();
    expect(groups.map(namesOf)).toEqual(['a', 'b c']);
    groups[1]?.finish();
    await Promise.all(writes);
    expect(queue.isIdle).toBe(true);
  });

  it('K14 a failed write fails all writes after it, and later ones are attempted again', async () => {
    const { queue, groups } = createQueue();
    const writes = ['a', 'b', 'c'].map((name) => queue.push(batchOf(name), 'synced'));
    const settled = Promise.allSettled(writes);
    groups[0]?.finish(new SynclineError('storage-failed', 'broken', { outcome: 'unknown' }));
    const outcomes = await settled;
    expect(
      outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.outcome),
    ).toEqual(['unknown', 'not-applied', 'not-applied']);
    expect(groups.map(namesOf)).toEqual(['a']);
    const next = queue.push(batchOf('d'), 'synced');
    expect(groups.map(namesOf)).toEqual(['a', 'd']);
    groups[1]?.finish();
    await next;
  });

  it('a buffered write does not wait for the sync of a later one', async () => {
    const { queue, groups } = createQueue();
    void queue.push(batchOf('first'), 'buffered');
    for (const [name, durability] of [
      ['b1', 'buffered'],
      ['b2', 'buffered'],
      ['s1', 'synced'],
      ['b3', 'buffered'],
      ['s2', 'synced'],
    ] as const) {
      void queue.push(batchOf(name), durability);
    }
    for (let group = 0; group < 3; group += 1) {
      groups[group]?.finish();
      await turns();
    }
    expect(groups.map((group) => `${group.durability}: ${namesOf(group)}`)).toEqual([
      'buffered: first',
      'buffered: b1 b2',
      'synced: s1 b3 s2',
    ]);
  });

  it('K15 secures what was pushed before, in a group without writes', async () => {
    const { queue, groups } = createQueue();
    void queue.push(batchOf('first'), 'buffered');
    void queue.push(batchOf('s1'), 'synced');
    void queue.push(batchOf('b1'), 'buffered');
    void queue.pushSecure();
    void queue.pushSecure();
    void queue.push(batchOf('b2'), 'buffered');
    for (let group = 0; group < 3; group += 1) {
      groups[group]?.finish();
      await turns();
    }
    expect(groups.map((group) => `${group.durability}: ${namesOf(group)}`)).toEqual([
      'buffered: first',
      'synced: s1 b1',
      'secured: ',
      'buffered: b2',
    ]);
  });

  it('limits groups by bytes, and writes a larger batch alone', async () => {
    const { queue, groups } = createQueue({ groupBytesMax: 100 });
    void queue.push(batchOf('first'), 'buffered');
    for (const [name, bytes] of [
      ['a', 60],
      ['b', 40],
      ['c', 1],
      ['large', 500],
      ['d', 10],
    ] as const) {
      void queue.push(batchOf(name, bytes), 'buffered');
    }
    for (let group = 0; group < 4; group += 1) {
      groups[group]?.finish();
      await turns();
    }
    expect(groups.map(namesOf)).toEqual(['first', 'a b', 'c', 'large', 'd']);
  });

  it('refuses what would exceed its bound, but never a batch that finds an empty queue', async () => {
    const { queue, groups } = createQueue({ queueBytesMax: 2000 });
    const first = queue.push(batchOf('first', 5000), 'buffered');
    const second = queue.push(batchOf('second', 5000), 'buffered');
    await expect(queue.push(batchOf('third'), 'buffered')).rejects.toMatchObject({
      code: 'overloaded',
      details: { limit: 'storageQueueBytesMax', value: 2000 },
    });
    groups[0]?.finish();
    await first;
    await turns();
    const third = queue.push(batchOf('third'), 'buffered');
    groups[1]?.finish();
    await second;
    await turns();
    groups[2]?.finish();
    await third;
    expect(groups.map(namesOf)).toEqual(['first', 'second', 'third']);
  });

  it('is drained when nothing is queued or in flight', async () => {
    const { queue, groups } = createQueue();
    await queue.drained();
    void queue.push(batchOf('a'), 'buffered');
    void queue.push(batchOf('b'), 'buffered');
    let isDrained = false;
    const drained = queue.drained().then(() => {
      isDrained = true;
    });
    groups[0]?.finish();
    await turns();
    expect(isDrained).toBe(false);
    groups[1]?.finish();
    await drained;
  });
});
