// Rows come back as they were written, and damaged ones do not come back at all.
import { SynclineError } from '@syncline/kernel';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JobChange, JobRow } from '../core/rows.js';
import { statusClass } from '../status.js';
import { encodeChange, LogRecord } from './change-codec.js';
import { cellKey, headKey, jobKey, logKey, storeKey, tagKey, taskKey } from './keys.js';
import {
  decodeCell,
  decodeCellPlace,
  decodeHead,
  decodeJobRow,
  decodeStoreRow,
  decodeTag,
  decodeTask,
  encodeCell,
  encodeHead,
  encodeJobRow,
  encodeStoreRow,
  encodeTag,
  encodeTask,
  LEASE_STATES,
} from './row-codec.js';
import { RowWriter } from './row-writer.js';

const count = fc.maxSafeNat();
const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const taskId = fc.nat(99_999);
const leaseState = fc.constantFrom(...LEASE_STATES);
const writer = new RowWriter();

const jobRow: fc.Arbitrary<JobRow> = fc.record(
  {
    jobId: fc.constant('job'),
    incarnation: fc.constant('17'),
    numTasks: count,
    expectedTags: fc.array(text, { maxLength: 5 }),
    labels: fc.dictionary(text, text, { maxKeys: 5, noNullPrototype: true }),
    createdAtMs: count,
    deletedAtMs: fc.nat(),
    metadataRevision: count,
  },
  {
    requiredKeys: [
      'jobId',
      'incarnation',
      'numTasks',
      'expectedTags',
      'labels',
      'createdAtMs',
      'metadataRevision',
    ],
  },
);

const written = fc.record({
  notStarted: count,
  running: count,
  finished: count,
  warned: count,
  failed: count,
});

const head = fc.record({
  revision: count,
  timestampMs: count,
  statesCount: count,
  compactedTo: count,
  written,
  silentTasks: count,
  expectedWritten: count,
  lostTasks: count,
  logRecords: count,
  sums: fc.record({ versions: count, epochs: count }),
});

const recentWrite = fc.record({
  eventId: text,
  revision: count,
  timestampMs: count,
  digest: text,
});

const cell = fc
  .tuple(
    fc.integer({ min: 8, max: 2 ** 50 }),
    count,
    int32,
    fc.array(recentWrite, { maxLength: 8 }),
  )
  .map(([version, revision, status, recent]) => ({
    version,
    revision,
    status,
    recent: recent.map((write, index) => ({ ...write, version: version - index })),
  }));

const state = fc
  .record(
    {
      taskId,
      status: int32,
      message: text,
      version: count,
      eventId: text,
      schemaVersion: fc.nat(),
      payload: fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean()), {
        noNullPrototype: true,
      }),
    },
    { requiredKeys: ['taskId', 'status', 'message', 'version', 'eventId', 'schemaVersion'] },
  )
  .map((fields) => ({
    ...fields,
    jobId: 'job',
    tag: 'tag-3',
    statusClass: statusClass(fields.status),
  }));

const lease = fc.record({
  taskId,
  epoch: count,
  state: leaseState,
  ttlMs: count,
  expiresAtMs: count,
  holder: text,
});

const change: fc.Arbitrary<JobChange> = fc
  .tuple(count, count, fc.oneof(state, lease, jobRow))
  .map(([revision, timestampMs, content]) => {
    const base = { revision, timestampMs };
    if ('tag' in content) return { kind: 'state', ...base, state: { ...content, ...base } };
    if ('epoch' in content) return { kind: 'lease', ...base, lease: { ...content, revision } };
    const { metadataRevision: _, ...job } = content;
    return { kind: 'job', ...base, job: { ...job, revision, changedAtMs: timestampMs } };
  });

const context = { jobId: 'job', incarnation: '17', tagOf: () => 'tag-3' };

function decodeChange(key: Uint8Array, bytes: Uint8Array): JobChange {
  return new LogRecord(key, bytes).change(context);
}

describe('what is written comes back', () => {
  test('metadata', () => {
    const key = jobKey('job');
    fc.assert(
      fc.property(jobRow, (row) => {
        const bytes = encodeJobRow(writer, key, { jobNo: 17, row });
        expect(decodeJobRow(key, bytes, 'job')).toEqual({ jobNo: 17, row });
      }),
    );
  });

  test('the head', () => {
    const key = headKey(17);
    fc.assert(
      fc.property(head, (row) => {
        expect(decodeHead(key, encodeHead(writer, key, row))).toEqual(row);
      }),
    );
  });

  test('a cell, whole and in part', () => {
    const key = cellKey(17, 3, 5);
    fc.assert(
      fc.property(cell, fc.boolean(), (row, isBuffered) => {
        const bytes = encodeCell(writer, key, { row, isBuffered });
        expect(decodeCell(key, bytes)).toEqual({ row, isBuffered });
        const { version, revision, status } = row;
        expect(decodeCellPlace(key, bytes)).toEqual({ version, revision, status });
      }),
    );
  });

  test('a task, a tag and the store', () => {
    const task = fc.record({
      taskId: fc.constant(5),
      epoch: count,
      state: leaseState,
      ttlMs: count,
      holder: text,
      revision: count,
    });
    fc.assert(
      fc.property(task, text, count, count, (row, tag, nextJobNo, generation) => {
        const key = taskKey(17, 5);
        expect(decodeTask(key, encodeTask(writer, key, row), 5)).toEqual(row);
        const keyOfTag = tagKey(17, 3);
        expect(decodeTag(keyOfTag, encodeTag(writer, keyOfTag, tag))).toBe(tag);
        const store = { storeId: tag, nextJobNo, generation };
        expect(decodeStoreRow(storeKey, encodeStoreRow(writer, storeKey, store))).toEqual(store);
      }),
    );
  });

  test('a record of the log', () => {
    fc.assert(
      fc.property(change, (each) => {
        const key = logKey(17, each.revision);
        expect(decodeChange(key, encodeChange(writer, key, each, 3))).toEqual(each);
      }),
    );
  });
});

describe('what is damaged does not come back', () => {
  const codeOf = (read: () => unknown): string => {
    try {
      read();
      return 'read';
    } catch (thrown) {
      return thrown instanceof SynclineError ? thrown.code : String(thrown);
    }
  };

  test('a flipped bit, a cut and another key are corrupt', () => {
    fc.assert(
      fc.property(change, fc.nat(), fc.nat(7), (each, place, bit) => {
        const key = logKey(17, each.revision);
        const bytes = encodeChange(writer, key, each, 3).slice();
        const flipped = bytes.slice();
        flipped[place % bytes.length] = (bytes[place % bytes.length] ?? 0) ^ (1 << bit);
        expect(codeOf(() => decodeChange(key, flipped))).toBe('corrupt');
        const cut = bytes.subarray(0, place % bytes.length);
        expect(codeOf(() => decodeChange(key, cut))).toBe('corrupt');
        expect(codeOf(() => decodeChange(logKey(18, each.revision), bytes))).toBe('corrupt');
      }),
    );
  });

  test('a whole row that ends too early is corrupt too', () => {
    const key = headKey(1);
    const bytes = encodeTag(writer, key, 'no head').slice();
    expect(codeOf(() => decodeHead(key, bytes))).toBe('corrupt');
  });
});
