import { expect, it } from 'vitest';
import { pieceBytes } from './faults.js';

it('a piece is the smaller of a slice and 10 ms of a slow line, and never empty', () => {
  expect(pieceBytes({})).toBe(Number.POSITIVE_INFINITY);
  expect(pieceBytes({ sliceBytes: 1 })).toBe(1);
  expect(pieceBytes({ bytesPerSecond: 100_000 })).toBe(1_000);
  expect(pieceBytes({ bytesPerSecond: 100_000, sliceBytes: 7 })).toBe(7);
  expect(pieceBytes({ bytesPerSecond: 5 })).toBe(1);
});
