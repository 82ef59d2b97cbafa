import { type StorageBatch, SynclineError, silentMetrics } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { journalNumberOf } from '../state/storage-keys.js';
import { Commits, type Journaled } from './commits.js';

/** Counts changes instead of keeping sets; a record is the number of changes in it. */
class CountingState implements Journaled {
  gatheringNumber = 1;
  gathered = 0;
  gatheredBytes = 0;
  readonly calls: string[] = [];

  get isGathering(): boolean {
    return this.gathered > 0;
  }

  takeRecord() {
    if (!this.isGathering) return undefined;
    const record = { number: this.gatheringNumber, bytes: Uint8Array.of(this.gathered) };
    this.gatheringNumber += 1;
    this.gathered = 0;
    this.gatheredBytes = 0;
    return record;
  }

  settled(number: number): void {
    this.calls.push(`settled ${number}`);
  }

  undoFrom(number: number): void {
    this.calls.push(`undo ${number}`);
    this.gatheringNumber = number;
    this.gathered = 0;
  }
}

/** A storage whose writes end when the test says so. */
class HeldWrites {
  readonly sizes: number[] = [];
  /** Numbers that the last write has deleted. */
  deleted: readonly number[] = [];
  readonly #ends: { resolve: () => void; reject: (error: SynclineError) => void }[] = [];

  write(batch: StorageBatch): Promise<void> {
    const { operations } = batch;
    for (const operation of operations) {
      if (operation.kind === 'put') this.sizes.push(operation.value[0] ?? 0);
    }
    const deletes = operations.filter(({ kind }) => kind === 'delete');
    this.deleted = deletes.map(({ key }) => journalNumberOf(key));
    return new Promise((resolve, reject) => this.#ends.push({ resolve, reject }));
  }

  succeed(): void {
    this.#ends.shift()?.resolve();
  }

  fail(): void {
    this.#ends.shift()?.reject(new SynclineError('storage-full', 'no room'));
  }
}

function inTurns(
  body: (world: {
    state: CountingState;
    storage: HeldWrites;
    commits: Commits;
    heard: string[];
    change(name: string): void;
    turn(): Promise<void>;
  }) => Promise<void>,
) {
  return runInSimulation(1, async ({ clock }) => {
    const state = new CountingState();
    const storage = new HeldWrites();
    const heard: string[] = [];
    const commits = new Commits(
      { state, storage, clock, metrics: silentMetrics, onSettled: () => {} },
      { durability: 'buffered' },
    );
    const change = (name: string) => {
      state.gathered += 1;
      commits.changed(1);
      commits.whenSettled(state.gatheringNumber, (error) =>
        heard.push(`${name} ${error?.code ?? 'ok'}`),
      );
    };
    await body({ state, storage, commits, heard, change, turn: () => clock.sleep(1) });
  });
}

test('changes of one turn share a record, and later turns join the next one', () =>
  inTurns(async ({ storage, heard, change, turn, commits }) => {
    change('a');
    change('b');
    await turn();
    expect(storage.sizes).toEqual([2]);
    change('c');
    await turn();
    change('d');
    await turn();
    expect(storage.sizes, 'one write is in flight').toEqual([2]);
    expect(commits.newest).toBe(2);
    storage.succeed();
    await turn();
    expect([storage.sizes, heard]).toEqual([
      [2, 2],
      ['a ok', 'b ok'],
    ]);
    storage.succeed();
    await turn();
    expect([commits.newest, heard]).toEqual([0, ['a ok', 'b ok', 'c ok', 'd ok']]);
  }));

test('S5 nobody hears of a commit before its write has ended', () =>
  inTurns(async ({ storage, heard, change, turn }) => {
    change('a');
    for (let turns = 0; turns < 20; turns += 1) await turn();
    expect(heard).toEqual([]);
    storage.succeed();
    await turn();
    expect(heard).toEqual(['a ok']);
  }));

test('S7 a failed write takes what was made on top of it along, and its number is used again', () =>
  inTurns(async ({ state, storage, heard, change, turn, commits }) => {
    change('a');
    await turn();
    storage.succeed();
    await turn();
    change('b');
    await turn();
    change('c');
    storage.fail();
    await turn();
    expect(heard).toEqual(['a ok', 'b storage-full', 'c storage-full']);
    expect(state.calls).toEqual(['settled 1', 'undo 2']);
    expect([commits.failuresCount, commits.newest]).toEqual([1, 0]);
    change('d');
    await turn();
    storage.succeed();
    await turn();
    expect(state.calls.at(-1)).toBe('settled 2');
    expect(heard.at(-1)).toBe('d ok');
  }));

test('S6 the disk may have kept a write that failed: the next one leaves none of its records', () =>
  inTurns(async ({ storage, change, turn, commits }) => {
    const write = async (records: number) => {
      for (let record = 0; record < records; record += 1) {
        change('large');
        commits.changed(1_000);
      }
      await turn();
    };
    await write(4);
    storage.fail();
    await turn();
    await write(2);
    expect(storage.deleted).toEqual([3, 4]);
    storage.fail();
    await turn();
    await write(1);
    expect(storage.deleted, 'nothing says that the second write has deleted them').toEqual([
      2, 3, 4,
    ]);
    storage.succeed();
    await turn();
    await write(1);
    expect(storage.deleted).toEqual([]);
  }));

test('a record that has grown large is closed, and written with the rest of the turn', () =>
  inTurns(async ({ state, storage, heard, change, turn, commits }) => {
    change('a');
    commits.changed(1_000);
    expect(state.isGathering, 'by its elements').toBe(false);
    state.gatheredBytes = 300_000;
    change('b');
    expect(state.isGathering, 'by its bytes').toBe(false);
    await turn();
    expect(storage.sizes).toEqual([1, 1]);
    change('c');
    commits.changed(1_000);
    change('d');
    expect(commits.newest).toBe(4);
    storage.succeed();
    await turn();
    expect([storage.sizes, heard]).toEqual([
      [1, 1, 1, 1],
      ['a ok', 'b ok'],
    ]);
    storage.fail();
    await turn();
    expect([state.calls.at(-1), commits.newest]).toEqual(['undo 3', 0]);
    expect(heard.slice(2)).toEqual(['c storage-full', 'd storage-full']);
  }));

test('a number that is left over from an undone commit waits for nobody', () =>
  inTurns(async ({ commits, heard, change, storage, turn }) => {
    commits.whenSettled(7, () => heard.push('idle'));
    change('a');
    await turn();
    commits.whenSettled(7, () => heard.push('busy'));
    storage.succeed();
    await turn();
    expect(heard).toEqual(['idle', 'a ok', 'busy']);
  }));
