// Places equal a plain map.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CellPlaces } from './cell-places.js';

const write = fc.record({
  tagNo: fc.nat(5),
  taskId: fc.oneof(fc.nat(10), fc.nat(1_000)),
});

test('cells are found by tag and by task, with their latest revision', () => {
  fc.assert(
    fc.property(fc.array(write, { maxLength: 60 }), fc.nat(60), (writes, after) => {
      const places = new CellPlaces();
      const plain = new Map<string, { tagNo: number; taskId: number; revision: number }>();
      for (const [index, { tagNo, taskId }] of writes.entries()) {
        places.set(tagNo, taskId, index + 1);
        plain.set(`${tagNo}/${taskId}`, { tagNo, taskId, revision: index + 1 });
      }
      const cells = [...plain.values()];
      expect(places.count).toBe(cells.length);
      for (const { tagNo, taskId, revision } of cells) {
        expect(places.get(tagNo, taskId)).toBe(revision);
        expect(places.get(tagNo, taskId + 5_000)).toBe(0);
        expect(places.hasWritten(taskId)).toBe(true);
        const above = cells.filter((cell) => cell.revision > after);
        const ofTag = above.filter((cell) => cell.tagNo === tagNo).map((cell) => cell.revision);
        expect(places.revisionsOfTag(tagNo, after).sort(ascending)).toEqual(ofTag.sort(ascending));
        const ofTask = above.filter((cell) => cell.taskId === taskId).map((cell) => cell.revision);
        expect(places.revisionsOfTask(taskId, after).sort(ascending)).toEqual(
          ofTask.sort(ascending),
        );
        expect(places.writtenCount(tagNo)).toBe(cells.filter((c) => c.tagNo === tagNo).length);
      }
      expect(places.hasWritten(4_000)).toBe(false);
    }),
  );
});

function ascending(a: number, b: number): number {
  return a - b;
}
