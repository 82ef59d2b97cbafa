import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CellMarks } from './cell-marks.js';

const slot = fc.oneof(fc.nat(70), fc.constantFrom(31, 32, 63, 64, 1_000, 262_143));
const step = fc.tuple(fc.constantFrom('add', 'add', 'add', 'delete', 'clear'), slot);

function listOf(marks: CellMarks): number[] {
  const list: number[] = [];
  for (let at = marks.next(0); at !== -1; at = marks.next(at + 1)) list.push(at);
  return list;
}

function play(steps: readonly (readonly [string, number])[]) {
  const marks = new CellMarks();
  const plain = new Set<number>();
  for (const [kind, at] of steps) {
    if (kind === 'add') {
      expect(marks.add(at)).toBe(!plain.has(at));
      plain.add(at);
    } else if (kind === 'delete') {
      marks.delete(at);
      plain.delete(at);
    } else if (at === 0) {
      marks.clear();
      plain.clear();
    }
  }
  return { marks, plain };
}

test('marks are a set of slots, listed in order', () => {
  fc.assert(
    fc.property(fc.array(step, { size: 'large' }), slot, (steps, at) => {
      const { marks, plain } = play(steps);
      const sorted = [...plain].sort((left, right) => left - right);
      expect(listOf(marks)).toEqual(sorted);
      expect(marks.count).toBe(plain.size);
      expect(marks.has(at)).toBe(plain.has(at));
      expect(marks.next(at)).toBe(sorted.find((marked) => marked >= at) ?? -1);
    }),
  );
});

test('adding another set counts what was already marked', () => {
  fc.assert(
    fc.property(fc.array(step), fc.array(step), (ours, others) => {
      const { marks, plain } = play(ours);
      const other = play(others);
      const both = [...other.plain].filter((at) => plain.has(at)).length;
      expect(marks.addAll(other.marks)).toBe(both);
      expect(new Set(listOf(marks))).toEqual(new Set([...plain, ...other.plain]));
    }),
  );
});
