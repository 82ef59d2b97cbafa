// A table compared with a plain Map, with honest hashes and with hashes that a client could search for.
import { assert, SynclineError } from '@syncline/kernel';
import { createSeededRandom, type SeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { ElementHeap } from './element-heap.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_ACTOR,
  ROW_HEADER_WORDS,
  readWord,
  writeWord,
} from './element-row.js';
import { MemberTable } from './member-table.js';
import { createOrderKeys, OrderHash, type PositionWords, positionOf } from './order-hash.js';
import { createHeapWithHighPages } from './testing/high-pages.js';

type Weaken = (words: PositionWords) => void;

/** How much of an honest hash is used. */
const hashes: Record<string, Weaken> = {
  honest: () => {},
  constant: (words) => words.fill(0xffff),
  highest: (words) => words.set([0xffff_ffff, 0xffff]),
  sameStart: (words) => words.set([0xabcd_e000 | ((words[0] ?? 0) & 0xfff), words[1] ?? 0]),
  fewStarts: (words) => words.set([(words[0] ?? 0) & 0xc000_0003, (words[1] ?? 0) & 1]),
  halfAlike: (words) => {
    if ((words[1] ?? 0) % 2 === 0) words[0] = 0x1234_5600 | ((words[0] ?? 0) & 0xff);
  },
};

class TableAndModel {
  readonly heap: ElementHeap;
  readonly table: MemberTable;
  readonly model = new Map<string, number>();
  readonly #orderHash = new OrderHash(createOrderKeys('dev').order);
  readonly #words = new Uint32Array(2);
  readonly #weaken: Weaken;

  constructor(weaken: Weaken, heap = new ElementHeap()) {
    this.#weaken = weaken;
    this.heap = heap;
    this.table = new MemberTable(heap);
  }

  /** The member is surrounded by other bytes, as in a command. */
  #listOf(member: string): ByteList {
    const list = ByteList.of(Buffer.from('*3'), Buffer.from(member, 'latin1'), Buffer.from('..'));
    this.#orderHash.write(list.view, list.start(1), list.end(1), this.#words);
    this.#weaken(this.#words);
    return list;
  }

  positionOf(member: string): number {
    this.#listOf(member);
    return positionOf(this.#words);
  }

  find(member: string): number {
    const list = this.#listOf(member);
    return this.table.find(this.#words, list, 1);
  }

  add(member: string, mark: number): void {
    const list = this.#listOf(member);
    let row = this.table.find(this.#words, list, 1);
    assert(row === (this.model.get(member) ?? 0), 'a row is found as long as it is there');
    if (row !== 0) return;
    row = this.table.insert(this.#words, list, 1);
    for (let word = 3; word < ROW_HEADER_WORDS; word += 1) {
      assert(readWord(this.heap, row, word) === 0, 'a new row is clean');
    }
    writeWord(this.heap, row, ROW_ACTOR, mark);
    this.model.set(member, row);
  }

  remove(member: string): void {
    const row = this.find(member);
    assert(row === (this.model.get(member) ?? 0), 'a row is found as long as it is there');
    if (row !== 0) this.table.delete(row);
    this.model.delete(member);
  }

  memberOf(row: number): string {
    const bytes = memberBuffer(this.heap, row);
    return Buffer.from(bytes.subarray(memberStart(row), memberEnd(this.heap, row))).toString(
      'latin1',
    );
  }

  /** Members by position and then by bytes. */
  ordered(): readonly string[] {
    const keyed = [...this.model.keys()].map((member) => ({
      member,
      position: this.positionOf(member),
    }));
    keyed.sort(
      (left, right) => left.position - right.position || (left.member < right.member ? -1 : 1),
    );
    return keyed.map(({ member }) => member);
  }

  check(): void {
    expect(this.table.size).toBe(this.model.size);
    for (const [member, row] of this.model) {
      assert(this.find(member) === row, 'every row is found');
      assert(this.memberOf(row) === member, 'a row keeps its bytes');
    }
    const rows = new Set<number>();
    this.table.forEach((row) => {
      rows.add(row);
    });
    expect(rows).toEqual(new Set(this.model.values()));
    const scanned: string[] = [];
    expect(
      this.table.scan(0, Number.POSITIVE_INFINITY, (row) => scanned.push(this.memberOf(row))),
    ).toBe(0);
    expect(scanned).toEqual(this.ordered());
    expect(this.heap.usedBytes).toBeLessThanOrEqual(this.table.bytes);
  }
}

/** Often a short member; lengths around the sizes of small blocks are covered. */
function memberNumber(random: SeededRandom, variety: number): string {
  const number = random.u32() % variety;
  return number < 50 ? '\0'.repeat(number) : `${'x'.repeat(number % 37)}${number}`;
}

const phases = fc.array(
  fc.record({
    steps: fc.integer({ min: 1, max: 1_200 }),
    addsOfTen: fc.integer({ min: 0, max: 10 }),
    variety: fc.constantFrom(10, 300, 3_000),
  }),
  { minLength: 1, maxLength: 5 },
);

/** Adds and removes random members, then empties the table. */
function changeAndCheck(
  both: TableAndModel,
  random: SeededRandom,
  taken: readonly { steps: number; addsOfTen: number; variety: number }[],
): void {
  for (const { steps, addsOfTen, variety } of taken) {
    for (let step = 0; step < steps; step += 1) {
      const member = memberNumber(random, variety);
      if (random.u32() % 10 < addsOfTen) both.add(member, step);
      else both.remove(member);
    }
    both.check();
  }
  for (const member of [...both.model.keys()]) both.remove(member);
  expect([both.table.size, both.table.bytes, both.heap.usedBytes]).toEqual([0, 0, 0]);
}

test.each(Object.keys(hashes))('a table holds what was put into it, hash %s', (name) => {
  fc.assert(
    fc.property(fc.integer(), phases, (seed, taken) => {
      const both = new TableAndModel(hashes[name] ?? (() => {}));
      changeAndCheck(both, createSeededRandom(seed), taken);
    }),
    { numRuns: 8 },
  );
});

test('a table works with negative block numbers', () => {
  fc.assert(
    fc.property(fc.integer(), phases, (seed, taken) => {
      const both = new TableAndModel(() => {}, createHeapWithHighPages());
      changeAndCheck(both, createSeededRandom(seed), taken);
    }),
    { numRuns: 8 },
  );
});

class UnreliableHeap extends ElementHeap {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    super();
    this.#random = random;
  }

  override allocate(bytes: number): number {
    if (this.#random.u32() % 4 === 0) throw new SynclineError('limit-exceeded', 'no memory');
    return super.allocate(bytes);
  }
}

test.each(Object.keys(hashes))('an insert without memory changes nothing, hash %s', (name) => {
  fc.assert(
    fc.property(fc.integer(), phases, (seed, taken) => {
      const random = createSeededRandom(seed);
      const heap = new UnreliableHeap(random);
      const both = new TableAndModel(hashes[name] ?? (() => {}), heap);
      const { add } = both;
      both.add = (member, mark) => {
        try {
          add.call(both, member, mark);
        } catch (error) {
          if (!(error instanceof SynclineError)) throw error;
        }
      };
      changeAndCheck(both, random, taken);
    }),
    { numRuns: 4 },
  );
});

interface Turn {
  readonly count: number;
  readonly changes: number;
  readonly addsOfTen: number;
}

function turnsOf(changesMax: number): fc.Arbitrary<Turn[]> {
  const turn = fc.record({
    count: fc.integer({ min: 1, max: 60 }),
    changes: fc.nat(changesMax),
    addsOfTen: fc.integer({ min: 0, max: 10 }),
  });
  return fc.array(turn, { minLength: 1, maxLength: 20 });
}

/** Visits some rows from a place on, checks them, and returns the place to continue from. */
type NextPage = (place: number, count: number, visit: (row: number) => void) => number;

/** Changes the table between the pages and returns the members that were visited. */
function visitWhileChanging(
  both: TableAndModel,
  random: SeededRandom,
  taken: readonly Turn[],
  { end, nextPage }: { readonly end: number; readonly nextPage: NextPage },
): readonly string[] {
  const stayed = new Set(both.model.keys());
  const everThere = new Set(both.model.keys());
  const visited: string[] = [];
  let place = 0;
  for (let turn = 0; turn === 0 || place !== end; turn += 1) {
    const { count, changes, addsOfTen } = taken[turn % taken.length] as Turn;
    place = nextPage(place, count, (row) => visited.push(both.memberOf(row)));
    for (let change = 0; place !== end && change < changes; change += 1) {
      const member = memberNumber(random, 3_000);
      if (random.u32() % 10 < addsOfTen) both.add(member, 2);
      else both.remove(member);
      if (both.model.has(member)) everThere.add(member);
      else stayed.delete(member);
    }
  }
  const visitedOnce = new Set(visited);
  for (const member of stayed) assert(visitedOnce.has(member), 'no row that stays is missed');
  expect(visited.filter((member) => !everThere.has(member))).toEqual([]);
  expect(visited.length).toBe(visitedOnce.size);
  return visited;
}

test.each(Object.keys(hashes))(
  'S15 a scan visits each member that stays once, in order, while others change, hash %s',
  (name) => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 0, max: 1_500 }),
        turnsOf(80),
        (seed, size, taken) => {
          const random = createSeededRandom(seed);
          const both = new TableAndModel(hashes[name] ?? (() => {}));
          for (let number = 0; number < size; number += 1) both.add(memberNumber(random, 2_000), 1);
          const nextPage: NextPage = (position, count, visit) => {
            const page: number[] = [];
            const next = both.table.scan(position, count, (row) => page.push(row));
            page.forEach(visit);
            if (next === 0) return 0;
            expect(page.length).toBeGreaterThanOrEqual(count);
            // This page has all members of its last position: the next page starts after it.
            expect(next).toBe(both.positionOf(both.memberOf(page.at(-1) ?? 0)) + 1);
            return next;
          };
          const visited = visitWhileChanging(both, random, taken, { end: 0, nextPage });
          const positions = visited.map((member) => both.positionOf(member));
          expect(positions).toEqual(positions.toSorted((left, right) => left - right));
        },
      ),
      { numRuns: 8 },
    );
  },
);

test.each(Object.keys(hashes))(
  'a walk visits each member that stays once while others change, hash %s',
  (name) => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 0, max: 3_000 }),
        turnsOf(1_000),
        (seed, size, taken) => {
          const random = createSeededRandom(seed);
          const both = new TableAndModel(hashes[name] ?? (() => {}));
          for (let number = 0; number < size; number += 1) both.add(memberNumber(random, 3_000), 1);
          const nextPage: NextPage = (high, count, visit) => {
            const page: number[] = [];
            const next = both.table.walk(high, count, (row) => page.push(row));
            page.forEach(visit);
            for (const row of page) {
              const hash = Math.floor(both.positionOf(both.memberOf(row)) / 0x1_0000);
              assert(high <= hash && hash < next, 'a page has the rows of its range');
            }
            if (next < 2 ** 32) expect(page.length).toBeGreaterThanOrEqual(count);
            return next;
          };
          visitWhileChanging(both, random, taken, { end: 2 ** 32, nextPage });
        },
      ),
      { numRuns: 8 },
    );
  },
);
