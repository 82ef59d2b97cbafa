// What reads, writes and waits may cost: they only look at what they name, and leave nothing behind.
import { getEventListeners } from 'node:events';
import { actorId, silentLogger, silentMetrics, VersionVector } from '@syncline/kernel';
import { createSeededRandom, runInSimulation } from '@syncline/kernel/testing';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ByteList } from '../byte-list.js';
import { MemberTable } from '../memory/member-table.js';
import { SetsEngine } from './engine.js';
import { listOf } from './testing/driven-state.js';
import { startEngine } from './testing/simulated-engine.js';

afterEach(() => vi.restoreAllMocks());

/** In memory only. */
function withEngine(
  body: (engine: SetsEngine, nextTurn: () => Promise<void>) => Promise<void>,
): Promise<void> {
  return runInSimulation(1, async ({ clock, random }) => {
    const engine = new SetsEngine(
      { files: undefined, clock, random, logger: silentLogger, metrics: silentMetrics },
      { nodeId: 1, clusterId: 'test', durability: 'buffered', memoryBytesMax: 0 },
    );
    await engine.open();
    await engine.load();
    await body(engine, () => new Promise((resolve) => void clock.defer(resolve)));
  });
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

describe('lookups', () => {
  const rowSearches = ['find', 'insert', 'delete'] as const;
  const walks = ['walk', 'scan', 'randomRow', 'clear'] as const;

  test('S16 adding, removing and testing access only the members they name', () =>
    withEngine(async ({ keyspace, turns }) => {
      keyspace.add(listOf('large', ...numbers(20_000)), 0, 1);
      turns.commitNow();
      const spies = [...rowSearches, ...walks].map((name) => ({
        name,
        spy: vi.spyOn(MemberTable.prototype, name),
      }));
      const costOf = (run: () => void) => {
        for (const { spy } of spies) spy.mockClear();
        run();
        turns.commitNow();
        const calls = (names: readonly string[]) =>
          spies.reduce(
            (sum, { name, spy }) => sum + (names.includes(name) ? spy.mock.calls.length : 0),
            0,
          );
        expect(calls(walks), 'nothing is walked').toBe(0);
        return calls(rowSearches);
      };
      const nameSearch = 1;
      expect(costOf(() => keyspace.has(listOf('large', 'm5'), 0, 1))).toBeLessThanOrEqual(
        1 + nameSearch,
      );
      expect(costOf(() => keyspace.cardinality(listOf('large'), 0))).toBeLessThanOrEqual(
        nameSearch,
      );
      const three = listOf('large', 'new', 'm6', 'm7');
      expect(costOf(() => keyspace.add(three, 0, 1))).toBeLessThanOrEqual(3 + 1 + nameSearch);
      expect(costOf(() => keyspace.remove(three, 0, 1))).toBeLessThanOrEqual(3 + 3 + nameSearch);
      expect(costOf(() => keyspace.remove(three, 0, 1))).toBeLessThanOrEqual(3 + nameSearch);
    }));

  test('S16 a turn of many commands is one write to the disk, and a turn of reads is none', () =>
    runInSimulation(1, async (world) => {
      const { keyspace, turns } = await startEngine(world, { limits: {} });
      const { disk } = world.node;
      const diskOperations = async (run: (n: number) => void) => {
        const before = disk.operationsCount;
        for (let n = 0; n < 100; n += 1) run(n);
        await turns.settled();
        return disk.operationsCount - before;
      };
      keyspace.add(listOf('a', 'first'), 0, 1);
      await turns.settled();
      expect(await diskOperations((n) => keyspace.add(listOf('a', `m${n}`), 0, 1))).toBe(1);
      expect(await diskOperations((n) => keyspace.remove(listOf('a', `m${n}`), 0, 1))).toBe(1);
      expect(await diskOperations((n) => keyspace.has(listOf('a', `m${n}`), 0, 1))).toBe(0);
      expect(await diskOperations((n) => keyspace.remove(listOf('a', `m${n}`), 0, 1))).toBe(0);
    }));

  test('S16 half a million lookups of absent names allocate nothing permanently', () =>
    withEngine(async ({ keyspace, state, turns }) => {
      keyspace.add(listOf('a', 'x'), 0, 1);
      turns.commitNow();
      const facts = () => ({
        sets: state.sets.size,
        used: state.heap.usedBytes,
        reserved: state.heap.reservedBytes,
        overhead: state.sets.overheadBytes,
        digest: state.digestNow(),
      });
      const before = facts();
      const bytes = Buffer.from('a absent0');
      const list = new ByteList(bytes);
      list.push(0, 1); // "a", which exists
      list.push(2, bytes.length);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let n = 0; n < 500_000; n += 1) {
        view.setUint32(5, n);
        const isFound =
          keyspace.has(list, 1, 0) || keyspace.cardinality(list, 1) > 0 || keyspace.has(list, 0, 1);
        if (isFound || keyspace.remove(list, n % 2, 1) > 0) throw new Error('it is absent');
      }
      expect(turns.hasChanges).toBe(false);
      turns.commitNow();
      expect(facts()).toEqual(before);
    }));

  test('S16 reading absent sets in any other way leaves nothing behind either', () =>
    withEngine(async ({ keyspace, state }) => {
      const absent = listOf('absent', 'x');
      const visit = () => {};
      const watcher = { isTouched: false };
      const looks: readonly (() => void)[] = [
        () => keyspace.forEach(absent, 0, visit),
        () => keyspace.sample(absent, 0, 3, visit),
        () => keyspace.draw(absent, 0, 3, visit),
        () => keyspace.scan(absent, 0, { position: 0, count: 10 }, visit),
        () => keyspace.pop(absent, 0, 1, visit),
        () => keyspace.clear(absent, 0),
        () => keyspace.memberBytes(absent, 0),
        () => keyspace.isWatched(absent, 0, watcher),
        () => keyspace.openPin([Buffer.from('absent')]).close(),
        () => keyspace.add(absent, 0, 1, 1), // no members
        () => {
          keyspace.watch(absent, 0, watcher);
          keyspace.unwatch(watcher);
        },
        () => {
          keyspace.begin();
          keyspace.add(absent, 0, 1);
          keyspace.remove(absent, 0, 1);
          keyspace.end();
        },
        () => {
          keyspace.begin();
          keyspace.add(absent, 0, 1);
          keyspace.abandon();
        },
      ];
      for (const look of looks) {
        look();
        expect(state.sets.size, String(look)).toBe(0);
        expect(state.heap.usedBytes, String(look)).toBe(0);
      }
      expect(keyspace.lastCounter()).toBe(0);
    }));
});

describe('waiting for versions', () => {
  const WAITERS = 10_000;

  /** Signals of their own, so that what each leaves behind can be seen. */
  class Waiters {
    readonly aborts = Array.from({ length: WAITERS }, () => new AbortController());
    readonly outcomes: string[] = Array.from({ length: WAITERS }, () => 'waiting');

    constructor({ keyspace }: SetsEngine, versionOf: (index: number) => VersionVector) {
      for (const [index, { signal }] of this.aborts.entries()) {
        keyspace.whenApplied(versionOf(index), signal).then(
          () => {
            this.outcomes[index] = 'applied';
          },
          (error: { code: string }) => {
            this.outcomes[index] = error.code;
          },
        );
      }
    }

    count(outcome: string): number {
      return this.outcomes.filter((each) => each === outcome).length;
    }

    listeners(): number {
      return this.aborts.reduce(
        (sum, { signal }) => sum + getEventListeners(signal, 'abort').length,
        0,
      );
    }
  }

  /** How many lookups of the version one turn takes. */
  function lookups(engine: SetsEngine): number {
    const spy = vi.spyOn(engine.state.version, 'counterOf');
    engine.keyspace.add(listOf('a', 'x'), 0, 1);
    engine.turns.commitNow();
    const { length } = spy.mock.calls;
    spy.mockRestore();
    return length;
  }

  test('of 10,000 waiters a turn wakes only those it satisfies', () =>
    withEngine(async (engine, nextTurn) => {
      const own = actorId(1, engine.epoch);
      const withoutWaiters = lookups(engine);
      const first = engine.keyspace.lastCounter() + 1;
      const order = numbers(WAITERS).map((_, index) => first + ((index * 7_919) % WAITERS));
      const waiters = new Waiters(engine, (index) =>
        VersionVector.of({ actor: own, counter: order[index] ?? 0 }),
      );
      for (let turn = 1; turn <= 20; turn += 1) {
        expect(lookups(engine)).toBeLessThanOrEqual(withoutWaiters + 1);
        await nextTurn();
        expect(waiters.count('applied')).toBe(turn);
        expect(waiters.outcomes[order.indexOf(first + turn - 1)]).toBe('applied');
      }
      engine.keyspace.add(listOf('b', ...numbers(WAITERS)), 0, 1); // one operation for all the others
      expect(waiters.count('applied'), 'not before the turn is stored').toBe(20);
      await nextTurn();
      await nextTurn();
      expect(waiters.count('applied')).toBe(WAITERS);
      expect(waiters.listeners()).toBe(0);
      expect(lookups(engine), 'nothing is left').toBe(withoutWaiters);
    }));

  test('a version of several actors is waited for one dot at a time', () =>
    withEngine(async (engine, nextTurn) => {
      const own = actorId(1, engine.epoch);
      const withoutWaiters = lookups(engine);
      const other = actorId(2, 5);
      const waiters = new Waiters(engine, (index) =>
        VersionVector.of({ actor: own, counter: 2 }, { actor: other, counter: 1 + index }),
      );
      await nextTurn();
      expect(lookups(engine)).toBeLessThanOrEqual(withoutWaiters + 1);
      await nextTurn();
      expect(waiters.count('waiting')).toBe(WAITERS);
      expect(lookups(engine), 'all of them wait for the other actor now').toBe(withoutWaiters + 1);
    }));

  test('an aborted call leaves nothing behind', () =>
    withEngine(async (engine, nextTurn) => {
      const withoutWaiters = lookups(engine);
      const random = createSeededRandom(1);
      const waiters = new Waiters(engine, (index) =>
        VersionVector.of({
          actor: actorId(2, index % 3),
          counter: 1 + Math.floor(random.float() * 100),
        }),
      );
      await nextTurn();
      for (const abort of waiters.aborts) abort.abort();
      await nextTurn();
      expect(waiters.count('aborted')).toBe(WAITERS);
      expect(waiters.listeners()).toBe(0);
      expect(lookups(engine)).toBe(withoutWaiters);
      const aborted = AbortSignal.abort();
      const missing = VersionVector.of({ actor: actorId(2, 1), counter: 1 });
      await expect(engine.keyspace.whenApplied(missing, aborted)).rejects.toMatchObject({
        code: 'aborted',
      });
      await engine.keyspace.whenApplied(new VersionVector(), aborted);
      expect(lookups(engine)).toBe(withoutWaiters);
    }));
});
