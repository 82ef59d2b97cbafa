import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { checkWireWrite, type WriteFields } from '../checks/checked-write.js';
import { jobsLimits } from '../limits.js';
import { decideSetState, type SetStateRows } from './decisions.js';
import type { CellRow, JobRow, TaskRow } from './rows.js';

const NOW_MS = 5_000;

const job: JobRow = {
  jobId: 'nightly',
  incarnation: 'i1',
  numTasks: 4,
  expectedTags: [],
  labels: {},
  createdAtMs: 1,
  metadataRevision: 1,
};

const task: TaskRow = {
  taskId: 3,
  epoch: 2,
  state: 'held',
  ttlMs: 30_000,
  holder: 'host-1',
  revision: 2,
};

const rows: SetStateRows = {
  job,
  head: { revision: 2, timestampMs: 4_000, statesCount: 0 },
  task,
  cell: undefined,
  tags: new Set(),
};

const write: WriteFields = {
  jobId: 'nightly',
  incarnation: 'i1',
  taskId: 3,
  epoch: 2,
  tag: 'ingest',
  status: 20,
  message: 'parsing',
  payloadJson: '{"done":1,"of":2}',
  schemaVersion: 1,
  eventId: 'e1',
};

function applied(given: SetStateRows, what: WriteFields, nowMs = NOW_MS) {
  const decision = decideSetState(given, checkWireWrite(what), nowMs);
  if (decision.kind !== 'apply') throw new Error(`expected apply, got ${JSON.stringify(decision)}`);
  return decision;
}

function after(given: SetStateRows, what: WriteFields): SetStateRows {
  const { head, cell } = applied(given, what);
  return { ...given, head, cell, tags: new Set([what.tag]) };
}

function codeOf(given: SetStateRows | undefined, what: WriteFields): string {
  try {
    return decideSetState(given, checkWireWrite(what), NOW_MS).kind;
  } catch (thrown) {
    return SynclineError.from(thrown).code;
  }
}

describe('a write that applies', () => {
  test('J1 takes the next version and the next revision', () => {
    const first = applied(rows, write);
    expect(first.state).toMatchObject({ version: 1, revision: 3, timestampMs: NOW_MS, status: 20 });
    expect(first.lease).toBeUndefined();
    expect(first.head).toEqual({ revision: 3, timestampMs: NOW_MS, statesCount: 1 });
    const second = applied(after(rows, write), { ...write, eventId: 'e2' });
    expect(second.state).toMatchObject({ version: 2, revision: 4, eventId: 'e2' });
    expect(second.head.statesCount).toBe(1);
  });

  test('J1 on a lost lease is two changes: first held again, then the state', () => {
    const lost = { ...rows, task: { ...task, state: 'lost' as const } };
    const { task: again, lease, state, head } = applied(lost, write);
    expect(again).toMatchObject({ state: 'held', epoch: 2, revision: 3 });
    expect(lease).toMatchObject({ state: 'held', epoch: 2, revision: 3 });
    expect([state.revision, head.revision]).toEqual([4, 4]);
  });

  test('on a released lease leaves it released: who closes may still flush', () => {
    const released = { ...rows, task: { ...task, state: 'released' as const } };
    const { task: again, lease, state, head } = applied(released, write);
    expect([again, lease]).toEqual([undefined, undefined]);
    expect([state.revision, head.revision]).toEqual([3, 3]);
  });

  test('J19 keeps the timestamp while the clock is behind', () => {
    expect(applied(rows, write, 3_999).state.timestampMs).toBe(4_000);
    expect(applied(rows, write, 4_001.7).state.timestampMs).toBe(4_001);
  });
});

describe('a repeated event id', () => {
  const written = after(rows, write);

  test('J2 returns the first result, even after many later changes', () => {
    const first = applied(rows, write).state;
    const retries: SetStateRows[] = [
      written,
      { ...written, job: { ...job, deletedAtMs: 1 } },
      { ...written, job: { ...job, incarnation: 'i2' } },
      { ...written, task: { ...task, epoch: 3 } },
      after(written, { ...write, eventId: 'e2', status: 21 }),
    ];
    for (const each of retries) {
      const decision = decideSetState(each, checkWireWrite({ ...write, ifVersion: 0 }), NOW_MS + 1);
      expect(decision).toEqual({ kind: 'duplicate', state: first });
    }
  });

  test('J2 knows its content whatever the order of members', () => {
    const retry = { ...write, payloadJson: '{"of":2,"done":1}' };
    expect(decideSetState(written, checkWireWrite(retry), NOW_MS).kind).toBe('duplicate');
  });

  test('J2 with other content is a conflict', () => {
    for (const other of [
      { status: 21 },
      { message: '' },
      { payloadJson: '{}' },
      { schemaVersion: 2 },
    ]) {
      expect(codeOf(written, { ...write, ...other })).toBe('conflict');
    }
  });

  test('J2 the last 8 are remembered, the ninth is not', () => {
    const { value: most } = jobsLimits.recentEventIdsMax;
    let now = written;
    for (let i = 2; i <= most; i += 1) now = after(now, { ...write, eventId: `e${i}` });
    expect(codeOf(now, write)).toBe('duplicate');
    now = after(now, { ...write, eventId: 'e9' });
    expect(now.cell?.recent).toHaveLength(most);
    expect(codeOf(now, write)).toBe('apply');
  });
});

describe('the order of the checks', () => {
  // Each row mends what the row before was refused for; everything below it is still wrong.
  const bad: SetStateRows = {
    ...rows,
    job: { ...job, incarnation: 'i2', deletedAtMs: 1 },
    cell: {
      version: 1,
      revision: 2,
      status: 1,
      progress: 0,
      recent: [recent('e1', 'other content')],
    },
  };
  const wrong = { ...write, ifVersion: 7 };

  test('job, event id, tombstone, incarnation, task, epoch, version, limits', () => {
    const alive = { ...bad, job: { ...job, incarnation: 'i2' } };
    const mended = { ...bad, job };
    const fresh = { ...wrong, eventId: 'e2' };
    expect([
      codeOf(undefined, wrong),
      codeOf(bad, wrong),
      codeOf(bad, fresh),
      codeOf(alive, { ...fresh, taskId: 9 }),
      codeOf({ ...mended, task: undefined }, { ...fresh, taskId: 9 }),
      codeOf(mended, { ...fresh, epoch: 1 }),
      codeOf(mended, fresh),
      codeOf(full({ ...mended, cell: undefined }), fresh),
      codeOf(full({ ...mended, cell: undefined }), { ...fresh, ifVersion: 0 }),
      codeOf(mended, { ...fresh, ifVersion: 1 }),
    ]).toEqual([
      'not-found',
      'conflict',
      'conflict',
      'fenced',
      'invalid-argument',
      'fenced',
      'version',
      'version',
      'limit-exceeded',
      'apply',
    ]);
  });

  test('J13 an epoch that is older, newer or was never issued is fenced', () => {
    expect(codeOf(rows, { ...write, epoch: 1 })).toBe('fenced');
    expect(codeOf(rows, { ...write, epoch: 3 })).toBe('fenced');
    expect(codeOf({ ...rows, task: undefined }, { ...write, epoch: 0 })).toBe('fenced');
  });

  test('J20 tags and states at n − 1, n and n + 1', () => {
    const { tagsPerJobMax, statesPerJobMax } = jobsLimits;
    const withTags = (count: number) => ({ ...rows, tags: tagSet(count) });
    expect(codeOf(withTags(tagsPerJobMax.value - 2), write)).toBe('apply');
    expect(codeOf(withTags(tagsPerJobMax.value - 1), write)).toBe('apply');
    expect(codeOf(withTags(tagsPerJobMax.value), write)).toBe('limit-exceeded');
    const expectsOne = { ...withTags(tagsPerJobMax.value - 1), job: expecting('other') };
    expect(codeOf(expectsOne, write)).toBe('limit-exceeded');
    expect(codeOf({ ...expectsOne, job: expecting('ingest') }, write)).toBe('apply');
    const withStates = (statesCount: number) => ({ ...rows, head: { ...rows.head, statesCount } });
    expect(codeOf(withStates(statesPerJobMax.value - 1), write)).toBe('apply');
    expect(codeOf(withStates(statesPerJobMax.value), write)).toBe('limit-exceeded');
    const rewrite = { ...withStates(statesPerJobMax.value), cell: after(rows, write).cell };
    expect(codeOf(rewrite, { ...write, eventId: 'e2' })).toBe('apply');
  });
});

function full(given: SetStateRows): SetStateRows {
  return { ...given, tags: tagSet(jobsLimits.tagsPerJobMax.value) };
}

function tagSet(count: number): ReadonlySet<string> {
  return new Set(Array.from({ length: count }, (_, i) => `tag-${i}`));
}

function expecting(tag: string): JobRow {
  return { ...job, expectedTags: [tag] };
}

function recent(eventId: string, digest: string): CellRow['recent'][number] {
  return { eventId, version: 1, revision: 2, timestampMs: 1, digest };
}
