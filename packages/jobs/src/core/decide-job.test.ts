import { describe, expect, test } from 'vitest';
import type { JobSpec } from '../job.js';
import { jobsLimits } from '../limits.js';
import { decideCreate, decideMark, decideUpdate, type JobApplied } from './decisions.js';

const spec: Required<JobSpec> = {
  jobId: 'nightly',
  numTasks: 8,
  expectedTags: ['a'],
  labels: { team: 'data' },
};

const birth = { incarnation: 'i1', jobsCount: 0, nowMs: 5_000 };

function applied(decision: { readonly kind: string }): JobApplied {
  expect(decision.kind).toBe('apply');
  return decision as JobApplied;
}

const created = applied(decideCreate(undefined, spec, birth));
const rows = { job: created.job, head: created.head, tags: new Set<string>() };

describe('metadata of a job', () => {
  test('J1 creation is revision 1, each later write one more', () => {
    expect(created.info).toEqual({
      ...spec,
      incarnation: 'i1',
      createdAtMs: 5_000,
      revision: 1,
      changedAtMs: 5_000,
    });
    const request = { jobId: 'nightly', patch: { labels: {} } };
    const updated = applied(decideUpdate(rows, request, 6_000));
    expect(updated.info).toMatchObject({ labels: {}, expectedTags: ['a'], revision: 2 });
    const marked = applied(decideMark({ ...rows, ...updated }, { jobId: 'nightly' }, 5_500));
    expect(marked.info).toMatchObject({ deletedAtMs: 6_000, revision: 3, changedAtMs: 6_000 });
    expect(marked.job.metadataRevision).toBe(3);
    expect(marked.head).toMatchObject({ revision: 3, timestampMs: 6_000 });
  });

  test('J15 creating it again returns the first numTasks', () => {
    const again = decideCreate(rows, { ...spec, numTasks: 3 }, { ...birth, incarnation: 'i2' });
    expect(again).toEqual({ kind: 'unchanged', info: created.info });
  });

  test('a job marked deleted takes no creation and no update; marking again changes nothing', () => {
    const marked = applied(decideMark(rows, { jobId: 'nightly' }, 6_000));
    const now = { ...rows, ...marked };
    const conflict = expect.objectContaining({ code: 'conflict' });
    expect(() => decideCreate(now, spec, birth)).toThrow(conflict);
    const request = { jobId: 'nightly', patch: {} };
    expect(() => decideUpdate(now, request, 7_000)).toThrow(conflict);
    expect(decideMark(now, { jobId: 'nightly' }, 7_000)).toEqual({
      kind: 'unchanged',
      info: marked.info,
    });
  });

  test('an unknown job is not found', () => {
    const notFound = expect.objectContaining({ code: 'not-found' });
    expect(() => decideUpdate(undefined, { jobId: 'x', patch: {} }, 1)).toThrow(notFound);
    expect(() => decideMark(undefined, { jobId: 'x' }, 1)).toThrow(notFound);
  });

  test('J13 a call for another incarnation changes nothing; one for any incarnation succeeds', () => {
    const { incarnation } = rows.job;
    const other = { jobId: 'nightly', incarnation: `${incarnation}0` };
    const details = { reason: 'incarnation', incarnation };
    const fenced = expect.objectContaining({ code: 'fenced', details });
    expect(() => decideUpdate(rows, { ...other, patch: {} }, 6_000)).toThrow(fenced);
    expect(() => decideMark(rows, other, 6_000)).toThrow(fenced);
    for (const meant of [{ jobId: 'nightly' }, { jobId: 'nightly', incarnation }]) {
      expect(decideUpdate(rows, { ...meant, patch: {} }, 6_000).kind).toBe('apply');
      expect(decideMark(rows, meant, 6_000).kind).toBe('apply');
    }
  });

  test('J20 jobs and tags at n − 1, n and n + 1', () => {
    const { jobsMax, tagsPerJobMax } = jobsLimits;
    const create = (jobsCount: number) => decideCreate(undefined, spec, { ...birth, jobsCount });
    expect(create(jobsMax.value - 2).kind).toBe('apply');
    expect(create(jobsMax.value - 1).kind).toBe('apply');
    const full = (limit: string) =>
      expect.objectContaining({ code: 'limit-exceeded', details: { limit } });
    expect(() => create(jobsMax.value)).toThrow(full('jobsMax'));
    const expectTags = (count: number, written: readonly string[]) => {
      const expectedTags = Array.from({ length: count }, (_, i) => `tag-${i}`);
      const request = { jobId: 'nightly', patch: { expectedTags } };
      return decideUpdate({ ...rows, tags: new Set(written) }, request, 6_000);
    };
    const { value: most } = tagsPerJobMax;
    expect(expectTags(most - 2, ['z']).kind).toBe('apply');
    expect(expectTags(most - 1, ['z']).kind).toBe('apply');
    expect(expectTags(most, ['tag-0']).kind).toBe('apply');
    expect(() => expectTags(most, ['z'])).toThrow(full('tagsPerJobMax'));
  });
});
