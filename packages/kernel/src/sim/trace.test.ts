import { expect, test } from 'vitest';
import { hashBytes, Trace } from './trace.js';

function traceOf(...notes: [number, string, string, number][]): Trace {
  const trace = new Trace();
  for (const [timeMs, kind, subject, detail] of notes) trace.note(timeMs, kind, subject, detail);
  return trace;
}

test('the hash depends on each part and on the order', () => {
  const hashes = [
    traceOf([1, 'a', 'b', 2]),
    traceOf([1 + 1 / 1024, 'a', 'b', 2]),
    traceOf([1, 'x', 'b', 2]),
    traceOf([1, 'a', 'x', 2]),
    traceOf([1, 'a', 'b', 3]),
    traceOf([1, 'a', 'b', 2], [2, 'c', 'd', 0]),
    traceOf([2, 'c', 'd', 0], [1, 'a', 'b', 2]),
    traceOf(),
  ].map((trace) => trace.hash());
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(hashes.every((hash) => /^[0-9a-f]{16}$/.test(hash))).toBe(true);
  expect(traceOf([1, 'a', 'b', 2]).hash()).toBe(hashes[0]);
});

test('times beyond 2^32 ticks still count', () => {
  const far = 2 ** 40;
  expect(traceOf([far, 'a', '', 0]).hash()).not.toBe(traceOf([far + 1, 'a', '', 0]).hash());
});

test('the tail keeps the newest lines, oldest first', () => {
  const trace = new Trace();
  expect(trace.tail()).toEqual([]);
  for (let index = 0; index < 1000; index += 1) trace.note(index, 'step', `s${index}`, 0);
  expect(trace.tail().length).toBe(256);
  expect(trace.tail(2).map((line) => line.split(' ').at(-2))).toEqual(['s998', 's999']);
});

test('bytes hash by content', () => {
  expect(hashBytes(new Uint8Array([1, 2]))).not.toBe(hashBytes(new Uint8Array([2, 1])));
});
