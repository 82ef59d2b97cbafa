// How much pins may hold, what they cost, and that a pin yields its moment while tables grow and sets come and go.
import { createSeededRandom, type SeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test, vi } from 'vitest';
import { MemberPin } from './member-pin.js';
import { DotPin } from './pins.js';
import { DrivenState, lineOf, textOf } from './testing/driven-state.js';

const numbers = (count: number, prefix = 'm') =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const bytes = (text: string) => Buffer.from(text, 'latin1');

function openMemberPin(driven: DrivenState, sets: readonly string[]): MemberPin {
  const deps = {
    random: createSeededRandom(1),
    commitNow: () => driven.settle(),
    yieldIfOverBudget: () => undefined,
  };
  return new MemberPin(driven.state, deps, sets.map(bytes));
}

function openDotPin(driven: DrivenState): DotPin {
  driven.settle();
  return new DotPin(driven.state);
}

/** Walks a pin step by step and collects its dots as lines. */
class DotWalk {
  readonly pin: DotPin;
  readonly lines: string[] = [];
  readonly #driven: DrivenState;

  constructor(driven: DrivenState) {
    this.#driven = driven;
    this.pin = openDotPin(driven);
  }

  step(rows: number): boolean {
    return this.pin.walk(rows, (set, row, dots) => {
      for (const dot of dots) this.lines.push(lineOf(set.name, this.#driven.memberOf(row), dot));
    });
  }

  /** Reads everything that is left, then closes the pin. */
  finish(rows: number): readonly string[] {
    while (this.step(rows));
    while (
      this.pin.walkDropped(rows, (set, member, dot) => {
        this.lines.push(lineOf(set.name, member, dot));
      })
    );
    this.pin.close();
    return this.lines.sort();
  }
}

async function membersOf(pin: MemberPin, set: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const batch of pin.members(bytes(set))) found.push(...batch.map(textOf));
  return found.sort();
}

/** Much faster than comparing thousands of lines one by one. */
function expectSame(found: readonly string[], wanted: readonly string[]): void {
  expect(found.join('\n')).toBe(wanted.join('\n'));
}

const overloaded = expect.objectContaining({ code: 'overloaded' });

describe('S10 when pins hold too much', () => {
  test('the oldest is broken, and the others go on', async () => {
    const driven = new DrivenState({ pinEntriesMax: 10 });
    const { pins } = driven.state;
    driven.add('a', numbers(20));
    const dots = new DotWalk(driven);
    const oldest = openMemberPin(driven, ['a']);
    const newest = openMemberPin(driven, ['a']);
    driven.remove('a', numbers(3));
    driven.settle();
    expect([pins.count, pins.entries]).toEqual([3, 9]);
    driven.remove('a', ['m3']);
    driven.settle();
    expect(dots.pin.isBroken).toBe(true);
    expect(oldest.isBroken).toBe(false);
    expect([pins.count, pins.entries]).toEqual([2, 8]);
    driven.remove('a', numbers(6));
    driven.settle();
    expect([oldest.isBroken, newest.isBroken]).toEqual([true, false]);
    expect([pins.count, pins.entries]).toEqual([1, 6]);
    expect(await membersOf(newest, 'a')).toEqual(numbers(20).sort());
    newest.close();
    expect([pins.count, pins.entries, pins.bytes]).toEqual([0, 0, 0]);
  });

  test('every read of a broken pin throws, none returns empty sets', async () => {
    const driven = new DrivenState({ pinEntriesMax: 1 });
    driven.add('a', numbers(2_000));
    const pin = openMemberPin(driven, ['a']);
    const begun = pin.members(bytes('a'));
    expect((await begun.next()).done).toBe(false);
    driven.remove('a', ['m0', 'm1']);
    driven.settle();
    expect(pin.isBroken).toBe(true);
    await expect(begun.next()).rejects.toEqual(overloaded);
    await expect(pin.members(bytes('a')).next()).rejects.toEqual(overloaded);
    expect(() => pin.cardinality(bytes('a'))).toThrow(overloaded);
    expect(() => pin.has(bytes('a'), bytes('m5'))).toThrow(overloaded);
    expect(() => pin.randomMember(bytes('a'))).toThrow(overloaded);
    const dots = openDotPin(driven);
    driven.remove('a', ['m2', 'm3']);
    driven.settle();
    expect(() => dots.walk(1, () => {})).toThrow(overloaded);
    expect(() => dots.walkDropped(1, () => {})).toThrow(overloaded);
  });

  test('a broken pin has released its memory, and may be closed', () => {
    const driven = new DrivenState({ pinEntriesMax: 100 });
    driven.add('a', numbers(1_000));
    const pins = [openDotPin(driven), openMemberPin(driven, ['a'])];
    driven.remove('a', numbers(300));
    driven.settle();
    for (const pin of pins) {
      expect(pin.isBroken).toBe(true);
      expect(pin.entries).toBe(0);
      expect(pin.bytes).toBeLessThan(1_024);
      pin.close();
    }
    expect(driven.state.pins.areOpen).toBe(false);
  });

  test('long members count by their bytes', () => {
    const driven = new DrivenState({ pinBytesMax: 1024 * 1024 });
    const members = numbers(30).map((member) => member.padEnd(60_000, '.'));
    driven.add('a', members);
    const pin = openDotPin(driven);
    driven.remove('a', members.slice(0, 5));
    driven.settle();
    expect(pin.isBroken).toBe(false);
    driven.remove('a', members);
    driven.settle();
    expect(pin.isBroken).toBe(true);
    expect(driven.state.pins.bytes).toBe(0);
  });

  test('a turn that is undone breaks no pin', async () => {
    const driven = new DrivenState({ pinEntriesMax: 10 });
    driven.add('a', numbers(20));
    const pin = openMemberPin(driven, ['a']);
    driven.remove('a', numbers(20));
    expect(driven.state.pins.entries).toBe(20);
    driven.undo();
    expect(driven.state.pins.entries).toBe(0);
    driven.settle();
    expect(await membersOf(pin, 'a')).toEqual(numbers(20).sort());
    pin.close();
  });
});

describe('what pins cost', () => {
  test('while none is open a writer does not look at them', () => {
    const driven = new DrivenState();
    const dropped = vi.spyOn(driven.state.pins, 'dropped');
    driven.add('a', numbers(100));
    driven.add('a', numbers(100));
    driven.remove('a', numbers(50));
    driven.settle();
    expect(dropped).not.toHaveBeenCalled();
    openDotPin(driven).close();
    driven.clear('a');
    driven.settle();
    expect(dropped).not.toHaveBeenCalled();
  });

  test('what is added meanwhile, or has been walked, is not listed', () => {
    const driven = new DrivenState();
    driven.add('a', numbers(1_000));
    const walk = new DotWalk(driven);
    driven.add('a', numbers(1_000, 'new'));
    driven.add('b', numbers(10));
    driven.settle();
    driven.clear('b');
    driven.remove('a', numbers(1_000, 'new'));
    driven.settle();
    expect(walk.pin.entries, 'it was not there').toBe(0);
    while (walk.step(256));
    driven.clear('a');
    driven.settle();
    expect(walk.pin.entries, 'the walk has passed it').toBe(0);
    expect(walk.finish(256).length).toBe(1_000);
  });

  test('a pin of some sets does not list what other sets drop', () => {
    const driven = new DrivenState();
    driven.add('a', numbers(10));
    driven.add('b', numbers(10));
    const pin = openMemberPin(driven, ['a', 'absent']);
    driven.clear('b');
    driven.add('absent', ['x']);
    driven.remove('absent', ['x']);
    driven.settle();
    expect(pin.entries).toBe(0);
    expect(pin.cardinality(bytes('absent'))).toBe(0);
    expect(pin.has(bytes('absent'), bytes('x'))).toBe(false);
    driven.remove('a', ['m3']);
    driven.settle();
    expect(pin.entries).toBe(1);
    pin.close();
  });
});

/** Changes many sets at random: most steps touch a few small ones, some make a large one grow or shrink. */
class RandomWriter {
  readonly #driven: DrivenState;
  readonly #random: SeededRandom;

  constructor(driven: DrivenState, random: SeededRandom) {
    this.#driven = driven;
    this.#random = random;
  }

  below(end: number): number {
    return Math.floor(this.#random.float() * end);
  }

  /** One turn, which is undone now and then. */
  turn(): void {
    for (let operations = 1 + this.below(4); operations > 0; operations -= 1) this.#operation();
    if (this.below(5) === 0) this.#driven.undo();
    else this.#driven.settle();
  }

  #operation(): void {
    const driven = this.#driven;
    const kind = this.below(20);
    if (kind === 0) driven.add('large', numbers(1 + this.below(1_500), `g${this.below(4)}`));
    else if (kind === 1) driven.remove('large', numbers(this.below(1_500), `g${this.below(4)}`));
    else if (kind === 2) driven.clear('large');
    else if (kind < 10) driven.clear(this.#name());
    else if (kind < 14) driven.remove(this.#name(), ['x', 'y']);
    else driven.add(this.#name(), ['x', 'y', 'z'].slice(this.below(3)));
  }

  /** Three of four exist at the start. */
  #name(): string {
    return `set ${this.below(800)}`;
  }
}

function filled(): DrivenState {
  const driven = new DrivenState();
  for (let n = 0; n < 600; n += 1) driven.add(`set ${n}`, n % 3 === 0 ? ['x'] : ['x', 'y']);
  driven.add('large', numbers(3_000, 'g0'));
  driven.settle();
  return driven;
}

test.each(Array.from({ length: 8 }, (_, index) => index + 1))(
  'S20 pins yield their moment while sets are emptied, forgotten, made again and grown (seed %i)',
  async (seed) => {
    const driven = filled();
    const random = createSeededRandom(seed);
    const writer = new RandomWriter(driven, random);
    const names = ['large', ...numbers(40, 'set '), ...numbers(10, 'set 77')];
    const rows = [1, 7, 64, 700][seed % 4] ?? 1;
    for (let round = 0; round < 3; round += 1) {
      const early = new DotWalk(driven);
      const earlyLines = driven.lines();
      for (let turn = writer.below(20); turn > 0; turn -= 1) {
        writer.turn();
        early.step(rows);
      }
      const late = new DotWalk(driven);
      const lateLines = driven.lines();
      const members = openMemberPin(driven, names);
      const wanted = new Map(names.map((name) => [name, driven.members(name)]));
      const walk = members.members(bytes('large'));
      const found: string[] = [];
      let isMore = true;
      while (isMore) {
        isMore = early.step(rows);
        isMore = late.step(rows * 3) || isMore;
        const { value } = await walk.next();
        for (const member of value ?? []) found.push(textOf(member));
        writer.turn();
        if (rows === 1) for (let turn = 0; turn < 100 && isMore; turn += 1) isMore = early.step(1);
      }
      for (let next = await walk.next(); next.done !== true; next = await walk.next())
        found.push(...next.value.map(textOf));
      expectSame(early.finish(rows), earlyLines);
      expectSame(late.finish(rows), lateLines);
      expectSame(found.sort(), wanted.get('large') ?? []);
      for (const [name, list] of wanted) {
        expect(members.cardinality(bytes(name))).toBe(list.length);
        expectSame(await membersOf(members, name), list);
      }
      members.close();
      expect(driven.state.pins.areOpen).toBe(false);
    }
    const { liveDots } = driven.state.digest;
    expect(driven.lines().length).toBe(liveDots);
  },
);

test('S20 a walk of a large table goes on while its segments are divided and joined', () => {
  const driven = new DrivenState();
  driven.add('large', numbers(2_500));
  const walk = new DotWalk(driven);
  const lines = driven.lines();
  const entry = driven.state.sets.random(createSeededRandom(1));
  const before = entry.table.bytes;
  let steps = 0;
  for (let isMore = true; isMore; steps += 1) {
    isMore = walk.step(16);
    if (steps % 2 === 0) driven.add('large', numbers(4_000, 'grow'));
    else driven.remove('large', numbers(4_000, 'grow'));
    driven.remove('large', [`m${steps}`, `m${2_499 - steps}`]);
    driven.settle();
    if (steps === 0) expect(entry.table.bytes).toBeGreaterThan(1.5 * before);
  }
  expect(steps).toBeGreaterThan(5);
  expectSame(walk.finish(16), lines);
});

test('two walks over one pinned set at a time are refused', async () => {
  const driven = new DrivenState();
  driven.add('a', ['x', 'y']);
  driven.settle();
  const deps = {
    random: createSeededRandom(1),
    commitNow: () => {},
    yieldIfOverBudget: () => undefined,
  };
  const pin = new MemberPin(driven.state, deps, [Buffer.from('a')]);
  const first = pin.members(Buffer.from('a'));
  await first.next();
  await expect(pin.members(Buffer.from('a')).next()).rejects.toThrow('one walk');
  await first.return();
  expect((await pin.members(Buffer.from('a')).next()).value?.length).toBe(2);
});
