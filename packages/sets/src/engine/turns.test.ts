// Group commit over a log that the test controls.
import { actorId, type Clock, SynclineError, silentMetrics } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { createOrderKeys } from '../memory/order-hash.js';
import { decodeOperations } from '../operation/decode-operations.js';
import { LocalOperation } from './local-changes.js';
import { SetsState } from './sets-state.js';
import { type TurnLog, type TurnMember, Turns } from './turns.js';

const full = new SynclineError('storage-full', 'no room');
const broken = new SynclineError('storage-failed', 'the disk is broken');

/** Syncs settle when the test says so. */
class HeldLog implements TurnLog {
  readonly records: string[] = [];
  readonly usedReserve: boolean[] = [];
  syncedThrough = 0;
  /** The reserved space is used up. */
  fullBy: SynclineError | undefined;
  /** Thrown by appends. */
  failure: SynclineError | undefined;
  #syncing: { resolve(): void; reject(error: unknown): void } | undefined;
  syncsCount = 0;

  get nextNumber(): number {
    return this.records.length + 1;
  }

  append(_kind: number, parts: readonly Uint8Array[], options?: { useReserve?: boolean }): number {
    this.usedReserve.push(options?.useReserve ?? false);
    if (this.failure !== undefined) throw this.failure;
    const operations = [...decodeOperations(Buffer.concat(parts))].length;
    return this.records.push(`${operations} operations`);
  }

  sync(): Promise<void> {
    expect(this.#syncing, 'one sync at a time').toBeUndefined();
    this.syncsCount += 1;
    const through = this.nextNumber - 1;
    return new Promise((resolve, reject) => {
      this.#syncing = {
        resolve: () => {
          this.syncedThrough = through;
          resolve();
        },
        reject,
      };
    });
  }

  get isSyncing(): boolean {
    return this.#syncing !== undefined;
  }

  endSync(error?: SynclineError): void {
    const syncing = this.#syncing;
    this.#syncing = undefined;
    if (error === undefined) syncing?.resolve();
    else syncing?.reject(error);
  }
}

class World {
  readonly log = new HeldLog();
  readonly state = new SetsState(createOrderKeys('test'));
  readonly operation = new LocalOperation(this.state);
  readonly turns: Turns;
  readonly failures: SynclineError[] = [];
  committed = 0;
  readonly #clock: Clock;

  constructor(clock: Clock, durability: 'buffered' | 'synced') {
    this.#clock = clock;
    this.state.version.useActor(actorId(1, 1));
    this.turns = new Turns(
      {
        state: this.state,
        operation: this.operation,
        clock,
        metrics: silentMetrics,
        onCommitted: () => {
          this.committed += 1;
        },
        onFailed: (error) => this.failures.push(error),
      },
      durability,
    );
    this.turns.attach(this.log);
  }

  add(...members: string[]): void {
    const list = ByteList.of(...members.map((member) => Buffer.from(member)));
    this.operation.begin();
    const set = this.state.sets.findOrCreate(ByteList.of(Buffer.from('s')), 0);
    for (const index of members.keys()) this.operation.add(set, list, index);
    if (this.operation.end()) this.turns.operationEnded();
  }

  remove(member: string): void {
    this.operation.begin();
    const set = this.state.sets.find(ByteList.of(Buffer.from('s')), 0);
    if (set !== undefined) this.operation.remove(set, ByteList.of(Buffer.from(member)), 0);
    if (this.operation.end()) this.turns.operationEnded();
  }

  get cardinality(): number {
    return this.state.sets.find(ByteList.of(Buffer.from('s')), 0)?.cardinality ?? 0;
  }

  /** Everything that an undone turn must leave as it was. */
  facts() {
    const { version, liveDots, xor } = this.state.digestNow();
    return { version: version.toString(), liveDots, xor, cardinality: this.cardinality };
  }

  /** Records its notifications, and how much was in the log at the time. */
  join(): Member {
    const member = new Member(this.log);
    this.turns.join(member);
    return member;
  }

  /** The outcome of `settled`; `waiting` at first. */
  settled(): { readonly outcome: string } {
    const result = { outcome: 'waiting' };
    this.turns.settled().then(
      () => {
        result.outcome = 'settled';
      },
      (error: SynclineError) => {
        result.outcome = error.code;
      },
    );
    return result;
  }

  async endTurn(): Promise<void> {
    await new Promise<void>((resolve) => void this.#clock.defer(resolve));
  }

  async endSync(error?: SynclineError): Promise<void> {
    this.log.endSync(error);
    await this.endTurn();
  }
}

class Member implements TurnMember {
  readonly events: string[] = [];
  readonly #log: HeldLog;
  #waitsFor = 0;

  constructor(log: HeldLog) {
    this.#log = log;
  }

  turnEnded(error: SynclineError | undefined, number: number): void {
    this.#waitsFor = number;
    const state = error?.code ?? (number === 0 ? 'released' : `waits for ${number}`);
    this.events.push(`${state} after ${this.#log.records.length} appends`);
  }

  turnsSynced(number: number): boolean {
    if (number < this.#waitsFor) return false;
    this.events.push(`synced ${number}`);
    return true;
  }

  turnsFailed(error: SynclineError): void {
    this.events.push(`failed: ${error.code}`);
  }
}

function withTurns(
  durability: 'buffered' | 'synced',
  body: (world: World, clock: Clock) => Promise<void>,
): Promise<void> {
  return runInSimulation(1, ({ clock }) => body(new World(clock, durability), clock));
}

describe('a turn', () => {
  test('S5 is one append for all its operations, and nothing leaves before it', () =>
    withTurns('buffered', async (world) => {
      const members = [world.join()];
      for (let n = 0; n < 100; n += 1) world.add(`m${n}`);
      members.push(world.join(), world.join());
      expect(world.log.records).toEqual([]);
      expect(world.turns.hasChanges).toBe(true);
      for (const { events } of members) expect(events).toEqual([]);
      await world.endTurn();
      expect(world.log.records).toEqual(['100 operations']);
      for (const { events } of members) expect(events).toEqual(['released after 1 appends']);
      expect(world.turns.hasChanges).toBe(false);
      expect(world.committed).toBe(1);
      expect(world.turns.operationsCount).toBe(100);
    }));

  test('that changes nothing appends nothing', () =>
    withTurns('buffered', async (world) => {
      const member = world.join();
      world.remove('absent');
      await world.endTurn();
      expect(member.events).toEqual(['released after 0 appends']);
      expect(world.log.usedReserve).toEqual([]);
      expect(world.committed).toBe(0);
    }));

  test('can be ended early', () =>
    withTurns('buffered', async (world) => {
      const member = world.join();
      world.add('a');
      expect(world.turns.commitNow()).toBeUndefined();
      expect(member.events).toEqual(['released after 1 appends']);
      world.add('b');
      await world.endTurn();
      expect(world.log.records).toEqual(['1 operations', '1 operations']);
      expect(member.events.length).toBe(1);
    }));

  test('is written early when its record has become large', () =>
    withTurns('buffered', async (world) => {
      const member = world.join();
      const bytes = 60_000;
      const count = Math.ceil(setsLimits.turnRecordBytesMax.value / bytes);
      for (let n = 0; n < count - 1; n += 1) world.add(String(n).padStart(bytes, '.'));
      expect(world.log.records).toEqual([]);
      world.add('the last one'.padStart(bytes, '.'));
      expect(world.log.records).toEqual([`${count} operations`]);
      expect(member.events).toEqual(['released after 1 appends']);
      world.add('small');
      expect(world.log.records.length).toBe(1);
      await world.endTurn();
      expect(world.log.records.length).toBe(2);
    }));

  test('includes callers that join while it ends in the next one', () =>
    withTurns('buffered', async (world) => {
      const later = new Member(world.log);
      world.turns.join({
        turnEnded: () => {
          world.add('b');
          world.turns.join(later);
        },
        turnsSynced: () => true,
        turnsFailed: () => {},
      });
      world.add('a');
      await world.endTurn();
      expect(later.events).toEqual([]);
      await world.endTurn();
      expect(later.events).toEqual(['released after 2 appends']);
    }));
});

describe('class buffered', () => {
  test('syncs once per interval, if anything was appended', () =>
    withTurns('buffered', async (world, clock) => {
      const intervalMs = setsLimits.syncIntervalMs.value;
      await clock.sleep(3 * intervalMs);
      expect(world.log.syncsCount).toBe(0);
      world.add('a');
      await clock.sleep(intervalMs / 2);
      world.add('b');
      await clock.sleep(intervalMs / 2 + 1);
      expect(world.log.syncsCount).toBe(1);
      world.add('c');
      await world.endTurn();
      await world.endSync();
      expect(world.log.syncedThrough).toBe(2);
      await clock.sleep(intervalMs + 1);
      expect(world.log.syncsCount).toBe(2);
      await world.endSync();
      expect(world.log.syncedThrough).toBe(3);
      await clock.sleep(5 * intervalMs);
      expect(world.log.syncsCount).toBe(2);
    }));

  test('does not wait for a sync', () =>
    withTurns('buffered', async (world, clock) => {
      world.add('a');
      await clock.sleep(setsLimits.syncIntervalMs.value + 1);
      expect(world.log.isSyncing).toBe(true);
      world.add('b');
      const settled = world.settled();
      await world.endTurn();
      expect(settled.outcome).toBe('settled');
    }));
});

describe('class synced', () => {
  test('S5 waits for a sync that began after the append', () =>
    withTurns('synced', async (world) => {
      world.add('a');
      const member = world.join();
      const first = world.settled();
      await world.endTurn();
      expect(member.events).toEqual(['waits for 1 after 1 appends']);
      expect(world.log.isSyncing).toBe(true);
      world.add('b');
      const second = world.settled();
      await world.endTurn();
      world.add('c');
      const third = world.settled();
      await world.endTurn();
      expect(world.log.records.length, 'turns go on meanwhile').toBe(3);
      expect(first.outcome).toBe('waiting');
      await world.endSync();
      expect(member.events).toEqual(['waits for 1 after 1 appends', 'synced 1']);
      expect([first, second, third].map(({ outcome }) => outcome)).toEqual([
        'settled',
        'waiting',
        'waiting',
      ]);
      expect(world.log.isSyncing, 'the next sync follows at once').toBe(true);
      await world.endSync();
      expect([second.outcome, third.outcome]).toEqual(['settled', 'settled']);
      expect(world.log.syncsCount).toBe(2);
      expect(world.log.isSyncing).toBe(false);
    }));

  test('S5 holds back reads until everything they may have seen is synced', () =>
    withTurns('synced', async (world) => {
      world.add('a');
      await world.endTurn();
      const read = world.settled();
      await world.endTurn();
      expect(read.outcome).toBe('waiting');
      await world.endSync();
      expect(read.outcome).toBe('settled');
      const later = world.settled();
      await world.endTurn();
      expect(later.outcome).toBe('settled');
    }));

  test('S5 can be switched on while something is not synced', () =>
    withTurns('buffered', async (world) => {
      world.add('a');
      const before = world.settled();
      await world.endTurn();
      world.turns.durability = 'synced';
      const after = world.settled();
      await world.endTurn();
      expect([before.outcome, after.outcome]).toEqual(['settled', 'waiting']);
      await world.endSync();
      expect(after.outcome).toBe('settled');
    }));

  test('S5 can be switched off: waiting replies still wait, later ones do not', () =>
    withTurns('synced', async (world) => {
      world.add('a');
      const first = world.settled();
      await world.endTurn();
      world.add('b');
      const second = world.settled();
      await world.endTurn();
      world.turns.durability = 'buffered';
      world.add('c');
      const third = world.settled();
      await world.endTurn();
      expect([first, second, third].map(({ outcome }) => outcome)).toEqual([
        'waiting',
        'waiting',
        'settled',
      ]);
      await world.endSync();
      expect([first.outcome, second.outcome]).toEqual(['settled', 'waiting']);
      await world.endSync();
      expect(second.outcome).toBe('settled');
    }));
});

describe('on a full disk', () => {
  test('S7 a turn is undone as a whole, and its waiters get the error', () =>
    withTurns('buffered', async (world) => {
      world.add('a', 'b');
      await world.endTurn();
      const before = world.facts();
      world.log.failure = full;
      world.add('b', 'c');
      world.remove('a');
      const member = world.join();
      const settled = world.settled();
      await world.endTurn();
      expect(member.events).toEqual(['storage-full after 1 appends']);
      expect(settled.outcome).toBe('storage-full');
      expect(world.facts()).toEqual(before);
      expect(world.turns.fullBy).toBe(full);
      expect(world.turns.failure).toBeUndefined();
    }));

  test('S7 each operation is then stored by itself, until one succeeds', () =>
    withTurns('buffered', async (world) => {
      world.log.failure = full;
      world.add('a');
      await world.endTurn();
      const before = world.facts();
      expect(() => world.add('b')).toThrow(full);
      expect(() => world.add('c')).toThrow(full);
      expect(world.facts()).toEqual(before);
      const read = world.settled();
      await world.endTurn();
      expect(read.outcome, 'reads continue').toBe('settled');
      world.log.failure = undefined;
      world.add('d');
      expect(world.log.records).toEqual(['1 operations']);
      expect(world.turns.fullBy).toBeUndefined();
      world.add('e');
      world.add('f');
      expect(world.log.records.length).toBe(1);
      await world.endTurn();
      expect(world.log.records).toEqual(['1 operations', '2 operations']);
      expect(world.cardinality).toBe(3);
    }));

  test('S7 a stored change is not refused because of a later one in the same turn', () =>
    withTurns('buffered', async (world) => {
      world.log.failure = full;
      world.add('a');
      await world.endTurn();
      world.log.failure = undefined;
      world.add('stored at once');
      const stored = world.settled();
      world.log.failure = full;
      world.add('not stored');
      const refused = world.settled();
      await world.endTurn();
      expect([stored.outcome, refused.outcome]).toEqual(['settled', 'storage-full']);
      expect(world.cardinality).toBe(1);
    }));

  test('only operations that remove may use the reserve', () =>
    withTurns('buffered', async (world) => {
      world.add('a', 'b');
      await world.endTurn();
      world.log.failure = full;
      world.remove('a');
      await world.endTurn();
      expect(() => world.add('c')).toThrow(full);
      expect(() => world.remove('a')).toThrow(full);
      world.log.failure = undefined;
      world.remove('a');
      world.remove('b');
      await world.endTurn();
      expect(world.log.usedReserve).toEqual([false, true, false, true, true, true]);
    }));

  test('S7 while the reserve is released each operation is stored by itself, also after a remove that was stored', () =>
    withTurns('buffered', async (world) => {
      world.add('a', 'b');
      await world.endTurn();
      world.log.fullBy = full;
      world.remove('a');
      await world.endTurn();
      expect(world.turns.fullBy).toBe(full);
      world.remove('b');
      const stored = world.settled();
      world.log.failure = full;
      expect(() => world.add('c')).toThrow(full);
      await world.endTurn();
      expect(stored.outcome).toBe('settled');
      world.log.failure = undefined;
      world.log.fullBy = undefined;
      world.add('c');
      expect(world.turns.fullBy).toBeUndefined();
    }));

  test('operations that are undone are not counted', () =>
    withTurns('buffered', async (world) => {
      world.add('a');
      await world.endTurn();
      world.log.failure = full;
      world.add('b');
      world.add('c');
      expect(world.turns.operationsCount).toBe(3);
      await world.endTurn();
      expect(world.turns.operationsCount).toBe(1);
    }));

  test('a large turn is undone when it is written early', () =>
    withTurns('buffered', async (world) => {
      const before = world.facts();
      const bytes = 60_000;
      const count = Math.ceil(setsLimits.turnRecordBytesMax.value / bytes);
      for (let n = 0; n < count - 1; n += 1) world.add(String(n).padStart(bytes, '.'));
      const member = world.join();
      world.log.failure = full;
      expect(() => world.add('the last one'.padStart(bytes, '.'))).toThrow(full);
      expect(member.events).toEqual(['storage-full after 0 appends']);
      expect(world.facts()).toEqual(before);
    }));

  test('running out of file descriptors for the log is not a final error either', () =>
    withTurns('buffered', async (world) => {
      world.log.failure = new SynclineError('unavailable', 'too many open files');
      world.add('a');
      const refused = world.settled();
      await world.endTurn();
      expect(refused.outcome).toBe('unavailable');
      expect(world.turns.failure).toBeUndefined();
      world.log.failure = undefined;
      world.add('a');
      const settled = world.settled();
      await world.endTurn();
      expect(settled.outcome).toBe('settled');
    }));
});

test.each(['buffered', 'synced'] as const)(
  'a sync without a file descriptor is tried again in class %s',
  (durability) =>
    withTurns(durability, async (world, clock) => {
      world.add('a');
      const settled = world.settled();
      await clock.sleep(setsLimits.syncIntervalMs.value + 1);
      await world.endSync(new SynclineError('unavailable', 'too many open files'));
      expect([world.failures, world.log.isSyncing]).toEqual([[], false]);
      await clock.sleep(setsLimits.syncIntervalMs.value + 1);
      expect(world.log.syncsCount).toBe(2);
      await world.endSync();
      expect(settled.outcome).toBe('settled');
    }),
);

describe('on a failing disk', () => {
  test.each(['buffered', 'synced'] as const)('a failed append is final in class %s', (durability) =>
    withTurns(durability, async (world) => {
      const before = world.facts();
      world.log.failure = broken;
      world.add('a');
      const member = world.join();
      const settled = world.settled();
      await world.endTurn();
      expect(member.events).toEqual(['storage-failed after 0 appends']);
      expect(settled.outcome).toBe('storage-failed');
      expect(world.facts()).toEqual(before);
      expect(world.failures).toEqual([broken]);
      world.log.failure = undefined;
      world.add('b');
      const again = world.settled();
      await world.endTurn();
      expect(again.outcome).toBe('storage-failed');
      expect(world.log.records).toEqual([]);
      expect(world.facts()).toEqual(before);
      expect(world.failures.length).toBe(1);
    }),
  );

  test('S5 a failed sync refuses all replies that wait for it, and later ones', () =>
    withTurns('synced', async (world) => {
      world.add('a');
      const first = world.settled();
      const member = world.join();
      await world.endTurn();
      world.add('b');
      const second = world.settled();
      await world.endTurn();
      world.add('c'); // in memory when the sync fails
      const third = world.settled();
      world.log.endSync(broken);
      await world.endTurn();
      await world.endTurn();
      expect([first, second, third].map(({ outcome }) => outcome)).toEqual([
        'storage-failed',
        'storage-failed',
        'storage-failed',
      ]);
      expect(member.events).toEqual(['waits for 1 after 1 appends', 'failed: storage-failed']);
      expect(world.failures).toEqual([broken]);
      const read = world.settled();
      const reader = world.join();
      await world.endTurn();
      expect(read.outcome, 'it may have seen what is lost').toBe('storage-failed');
      expect(reader.events.at(-1)).toBe('failed: storage-failed');
      expect(world.log.syncsCount, 'a failed sync is not tried again').toBe(1);
    }));

  test('in class buffered a failed sync refuses writes, and reads continue', () =>
    withTurns('buffered', async (world, clock) => {
      world.add('a');
      await clock.sleep(setsLimits.syncIntervalMs.value + 1);
      world.add('b');
      const stored = world.settled();
      await world.endTurn();
      await world.endSync(broken);
      expect(world.failures).toEqual([broken]);
      expect(stored.outcome).toBe('settled');
      world.add('c');
      const refused = world.settled();
      await world.endTurn();
      expect(refused.outcome).toBe('storage-failed');
      const read = world.settled();
      await world.endTurn();
      expect(read.outcome).toBe('settled');
      expect(world.cardinality).toBe(2);
      await clock.sleep(5_000);
      expect(world.log.syncsCount).toBe(1);
    }));
});
