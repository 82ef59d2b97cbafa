import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MessagePackReader, packIds, packNumbers } from './seed-change.js';

test('numbers are read back as the same doubles', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true })), (numbers) => {
      const read = new MessagePackReader(packNumbers(numbers)).numbers();
      expect(read.map((value) => value + 0)).toEqual(numbers.map((value) => value + 0));
    }),
  );
});

test('ids are read back exactly, even the largest', () => {
  fc.assert(
    fc.property(fc.array(fc.maxSafeNat()), (ids) => {
      expect(new MessagePackReader(packIds(ids)).numbers()).toEqual(ids);
    }),
  );
  const widest = [0, 127, 128, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER];
  expect(new MessagePackReader(packIds(widest)).numbers()).toEqual(widest);
});

test('arbitrary bytes are read or refused as corrupt', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      for (const read of ['number', 'numbers', 'text'] as const) {
        try {
          new MessagePackReader(bytes)[read]();
        } catch (thrown) {
          expect(thrown).toMatchObject({ name: 'SynclineError', code: 'corrupt' });
        }
      }
    }),
  );
});
