// A table against a plain Map, under honest hashes and under those that a client could search for.
import { assert } from '@syncline/kernel';
import { createSeededRandom, type SeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { ElementHeap } from './element-heap.js';
import { MemberTable } from './member-table.js';
import { createOrderKeys, OrderHash, type PositionWords, positionOf } from './order-hash.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_ACTOR,
  ROW_HEADER_WORDS,
  readWord,
  writeWord,
} from './row-layout.js';

type Weaken = (words: PositionWords) => void;

/** What is left of an honest hash. */
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
  readonly heap = new ElementHeap();
  readonly table = new MemberTable(this.heap);
  readonly model = new Map<string, number>();
  readonly #orderHash = new OrderHash(createOrderKeys('dev').order);
  readonly #words = new Uint32Array(2);
  readonly #weaken: Weaken;

  constructor(weaken: Weaken) {
    this.#weaken = weaken;
  }

  /** In the middle of other bytes, as in a command. */
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

/** Short ones often, and every length up to two words more than a row of the smallest size has. */
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

test.each(Object.keys(hashes))('a table holds what was put into it, hash %s', (name) => {
  fc.assert(
    fc.property(fc.integer(), phases, (seed, taken) => {
      const random = createSeededRandom(seed);
      const both = new TableAndModel(hashes[name] ?? (() => {}));
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
    }),
    { numRuns: 8 },
  );
});

test.each(Object.keys(hashes))(
  'S15 a scan meets what stays, and nothing that never was, hash %s',
  (name) => {
    const turns = fc.array(
      fc.record({ count: fc.integer({ min: 1, max: 60 }), changes: fc.nat(80) }),
      { minLength: 1, maxLength: 20 },
    );
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 1_500 }), turns, (seed, size, taken) => {
        const random = createSeededRandom(seed);
        const both = new TableAndModel(hashes[name] ?? (() => {}));
        for (let number = 0; number < size; number += 1) both.add(memberNumber(random, 2_000), 1);
        const stayed = new Set(both.model.keys());
        const everThere = new Set(both.model.keys());
        const met: string[] = [];
        let position = 0;
        for (let turn = 0; turn === 0 || position !== 0; turn += 1) {
          const { count, changes } = taken[turn % taken.length] ?? { count: 10, changes: 0 };
          const page: string[] = [];
          position = both.table.scan(position, count, (row) => page.push(both.memberOf(row)));
          if (position !== 0) expect(page.length).toBeGreaterThanOrEqual(count);
          const last = page.at(-1);
          // All of the last position are on this page: the next one starts behind it.
          if (position !== 0) expect(position).toBe(both.positionOf(last ?? '') + 1);
          met.push(...page);
          for (let change = 0; position !== 0 && change < changes; change += 1) {
            const member = memberNumber(random, 3_000);
            if (random.u32() % 2 === 0) both.add(member, 2);
            else both.remove(member);
            if (both.model.has(member)) everThere.add(member);
            else stayed.delete(member);
          }
        }
        const metOnce = new Set(met);
        for (const member of stayed) {
          assert(metOnce.has(member), 'a scan misses nothing that stays');
        }
        expect(met.filter((member) => !everThere.has(member))).toEqual([]);
        expect(met.length).toBe(metOnce.size);
        expect(met.map((member) => both.positionOf(member))).toEqual(
          met.map((member) => both.positionOf(member)).toSorted((left, right) => left - right),
        );
      }),
      { numRuns: 8 },
    );
  },
);
