import { StorageBatch, SynclineError, silentLogger, silentMetrics } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import type { FoldBatch } from '../state/fold-batch.js';
import { type Foldable, Folding } from './folding.js';

/** A head whose commits have 1 entry each unless told; a batch folds up to `batchCommits` of them. */
class CountingHead implements Foldable {
  headEntries = 0;
  headBytes = 0;
  foldedNumber = 0;
  gatheringNumber = 1;
  isGathering = false;
  settled = 0;
  batchCommits = 10;
  steps = 0;
  folds: number[] = [];
  readonly #entries: number[] = [0];

  commit(entries = 1): void {
    this.#entries[this.gatheringNumber] = entries;
    this.settled = this.gatheringNumber;
    this.gatheringNumber += 1;
    this.headEntries += entries;
  }

  nextFold(): FoldBatch | undefined {
    if (this.settled === this.foldedNumber) return undefined;
    const number = Math.min(this.settled, this.foldedNumber + this.batchCommits);
    const advance = () => {
      this.steps += 1;
      return true;
    };
    return { batch: new StorageBatch(), number, advance } as unknown as FoldBatch;
  }

  folded(batch: FoldBatch): void {
    const { number } = batch as unknown as { readonly number: number };
    for (let done = this.foldedNumber + 1; done <= number; done += 1) {
      this.headEntries -= this.#entries[done] ?? 0;
    }
    this.foldedNumber = number;
    this.folds.push(number);
  }
}

function withHead(
  body: (world: {
    head: CountingHead;
    folding: Folding;
    disk: { isFull: boolean; writes: number };
    failures: string[];
    commit(entries?: number): void;
    sleep(ms: number): Promise<void>;
  }) => Promise<void>,
) {
  return runInSimulation(1, async ({ clock }) => {
    const head = new CountingHead();
    const disk = { isFull: false, writes: 0 };
    const failures: string[] = [];
    const storage = {
      async write(): Promise<void> {
        disk.writes += 1;
        await clock.sleep(2);
        if (disk.isFull) throw new SynclineError('storage-full', 'no room');
      },
    };
    const folding = new Folding({
      state: head,
      storage,
      clock,
      metrics: silentMetrics,
      logger: silentLogger,
      onFolded: () => {},
      onFailed: (error) => failures.push(error.code),
    });
    const commit = (entries?: number) => {
      head.commit(entries);
      folding.committed();
    };
    await body({ head, folding, disk, failures, commit, sleep: (ms) => clock.sleep(ms) });
    folding.stop();
  });
}

test('it starts after 100 ms without a commit, and folds everything', () =>
  withHead(async ({ head, commit, sleep }) => {
    for (let count = 0; count < 25; count += 1) {
      commit();
      await sleep(50);
    }
    expect(head.folds).toEqual([]);
    await sleep(100);
    expect(head.folds).toEqual([10, 20, 25]);
    expect(head.headEntries).toBe(0);
  }));

test('however busy the node is, nothing gets much older than 5 s', () =>
  withHead(async ({ head, commit, sleep }) => {
    for (let ms = 0; ms < 5_000; ms += 50) {
      commit();
      await sleep(50);
    }
    expect(head.foldedNumber).toBe(0);
    for (let ms = 0; ms < 400; ms += 50) {
      commit();
      await sleep(50);
    }
    expect(head.foldedNumber).toBeGreaterThanOrEqual(100);
  }));

test('it starts at once when the head has as many entries as a fold should have', () =>
  withHead(async ({ head, commit, sleep }) => {
    commit(setsLimits.foldEntriesMin.value - 1);
    await sleep(20);
    expect(head.folds).toEqual([]);
    commit();
    await sleep(20);
    expect(head.folds).toEqual([2]);
  }));

test('who asks waits for all commits up to then, those under way included', () =>
  withHead(async ({ head, folding, commit, sleep }) => {
    await folding.foldAll();
    commit();
    head.isGathering = true; // commit 2 is being gathered
    let isDone = false;
    const all = folding.foldAll().then(() => {
      isDone = true;
    });
    await sleep(50);
    expect([isDone, head.foldedNumber]).toEqual([false, 1]);
    head.isGathering = false;
    commit();
    await all;
    expect(head.foldedNumber).toBe(2);
  }));

test('a commit that was undone is waited for by nobody', () =>
  withHead(async ({ head, folding }) => {
    head.isGathering = true;
    const all = folding.foldAll();
    head.isGathering = false;
    folding.undone();
    await all;
    expect(head.foldedNumber).toBe(0);
  }));

test('a full disk is tried again each second, and at once when somebody asks', () =>
  withHead(async ({ head, folding, disk, failures, commit, sleep }) => {
    disk.isFull = true;
    commit();
    await sleep(3_200);
    expect(failures).toEqual(['storage-full', 'storage-full', 'storage-full', 'storage-full']);
    await expect(folding.foldAll()).rejects.toMatchObject({ code: 'storage-full' });
    expect(folding.failure?.code).toBe('storage-full');
    disk.isFull = false;
    await folding.foldAll();
    expect([head.foldedNumber, folding.failure]).toEqual([1, undefined]);
  }));

test('who waits when it stops is refused, and so is who comes later and finds something left', () =>
  withHead(async ({ folding, disk, commit, sleep }) => {
    disk.isFull = true;
    commit();
    await sleep(200);
    const waiting = folding.foldAll();
    folding.stop();
    await expect(waiting).rejects.toMatchObject({ code: 'closed' });
    await expect(folding.foldAll()).rejects.toMatchObject({ code: 'closed' });
  }));

test('a broken promise of our own stops the process: it is no failure of the disk', async () => {
  const ours = process.listeners('unhandledRejection'); // the test runner would fail on it, too
  process.removeAllListeners('unhandledRejection');
  try {
    const failures: string[] = [];
    const run = withHead(async (world) => {
      world.head.folded = () => {
        throw new Error('S7: what is folded was in the head');
      };
      world.commit();
      await world.sleep(200);
      failures.push(...world.failures);
    });
    await expect(run).rejects.toThrow('S7: what is folded was in the head');
    expect(failures).toEqual([]);
  } finally {
    for (const listener of ours) process.on('unhandledRejection', listener);
  }
});
