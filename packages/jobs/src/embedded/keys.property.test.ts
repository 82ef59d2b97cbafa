// Keys sort like what they represent, and can be decoded.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  cellKey,
  cellOfKey,
  jobIdOfKey,
  jobKey,
  jobNoOfKey,
  jobRange,
  jobsRange,
  KeyKind,
  logKey,
  logRange,
  revisionOfKey,
  taskIdOfKey,
  taskKey,
} from './rows.js';

const number = fc.integer({ min: 1, max: 2 ** 52 });
const jobId = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,12}$/);

function isIn(key: Uint8Array, range: { readonly from: Uint8Array; readonly to: Uint8Array }) {
  return Buffer.compare(key, range.from) >= 0 && Buffer.compare(key, range.to) < 0;
}

test('records of a job sort by revision and are only in its ranges', () => {
  fc.assert(
    fc.property(number, number, number, (jobNo, a, b) => {
      expect(Math.sign(Buffer.compare(logKey(jobNo, a), logKey(jobNo, b)))).toBe(Math.sign(a - b));
      expect(isIn(logKey(jobNo, a), jobRange(KeyKind.log, jobNo))).toBe(true);
      expect(isIn(logKey(jobNo + 1, a), jobRange(KeyKind.log, jobNo))).toBe(false);
      expect(isIn(logKey(jobNo, a), logRange(jobNo, b, a))).toBe(a > b);
      expect([jobNoOfKey(logKey(jobNo, a)), revisionOfKey(logKey(jobNo, a))]).toEqual([jobNo, a]);
    }),
  );
});

test('cells of a tag are one range', () => {
  fc.assert(
    fc.property(number, fc.nat(65_534), fc.nat(99_999), (jobNo, tagNo, taskId) => {
      const key = cellKey(jobNo, tagNo, taskId);
      expect(cellOfKey(key)).toEqual({ tagNo, taskId });
      const ofTag = { from: cellKey(jobNo, tagNo, 0), to: cellKey(jobNo, tagNo + 1, 0) };
      expect(isIn(key, ofTag)).toBe(true);
      expect(taskIdOfKey(taskKey(jobNo, taskId))).toBe(taskId);
    }),
  );
});

test('jobs are listed by prefix, after the last one of the previous page', () => {
  fc.assert(
    fc.property(jobId, jobId, fc.nat(4), (id, after, length) => {
      const prefix = id.slice(0, length);
      const key = jobKey(id);
      expect(jobIdOfKey(key)).toBe(id);
      expect(isIn(key, jobsRange(prefix, ''))).toBe(true);
      const isWanted = id > after;
      expect(isIn(key, jobsRange(prefix, after))).toBe(isWanted);
    }),
  );
});
