// getState and getProgress: which cells count, which one is returned, and that stores agree with the fold.
//
// J12  Both equal the naive fold at their revision, counts sum to total, `lowest` is getState, warned and failed are
//      both counted.
import assert from 'node:assert/strict';
import type { Progress, Scope, State } from '../../job.js';
import type { JobStore } from '../../job-store.js';
import { createStaffedJob, JOB_ID, type TaskWriter } from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { foldStates } from '../naive-fold.js';

const FINISHED = 2_147_483_647;

export const aggregateCases: Cases = {
  'J12 a job without writes is not started': nothingWritten,
  'J12 the lowest number wins, and a warning hides an error only there': lowestWins,
  'J12 ties go to the lowest task, then to the lowest tag by bytes': ties,
  'J12 an expected tag counts for every task, any other for the tasks that wrote it': expectedTags,
  'J12 expected tags that come later count at once': laterExpectedTags,
  'J12 percent is 100 only when all is finished': percent,
  'J12 every scope equals the fold after every write': equalsFold,
};

async function nothingWritten({ subject: { store } }: CaseContext): Promise<void> {
  await createStaffedJob(store, { numTasks: 3 });
  const whole = await store.aggregate(JOB_ID, {});
  assert.deepEqual(shortOf(whole.lowest), [0, '', 0, 0]);
  assert.deepEqual(whole.cells, countsOf({ notStarted: 3 }));
  assert.deepEqual([whole.percent, whole.lostTasks, whole.tags.length], [0, 0, 0]);
  assert.deepEqual(shortOf((await store.aggregate(JOB_ID, { tag: 'a' })).lowest), [0, 'a', 0, 0]);
  const cell = await store.aggregate(JOB_ID, { taskId: 2, tag: 'a' });
  assert.deepEqual(shortOf(cell.lowest), [2, 'a', 0, 0]);
  assert.deepEqual(
    cell.tags.map(({ tag }) => tag),
    ['a'],
  );
  assert.equal(await store.getState(JOB_ID, 2, 'a'), undefined);
}

async function lowestWins({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 3 });
  await setAll(writers, { a: [FINISHED, -1, -2] });
  const progress = await store.aggregate(JOB_ID, {});
  assert.deepEqual(shortOf(progress.lowest).slice(0, 3), [2, 'a', -2]);
  assert.deepEqual(shortOf(progress.worst).slice(0, 3), [1, 'a', -1]);
  assert.deepEqual(progress.cells, countsOf({ finished: 1, failed: 1, warned: 1 }));
  await writers[0]?.set('a', -3);
  const { lowest, worst } = await store.aggregate(JOB_ID, { tag: 'a' });
  assert.deepEqual([lowest.status, worst.status], [-3, -3]);
}

async function ties({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  await setAll(writers, { '\u{1f600}': [5, 5], '\ufe4f': [5, 5], b: [5, 5] });
  const { lowest, worst, tags } = await store.aggregate(JOB_ID, {});
  assert.deepEqual(
    [shortOf(lowest).slice(0, 2), shortOf(worst).slice(0, 2)],
    [
      [0, 'b'],
      [0, 'b'],
    ],
  );
  assert.deepEqual(
    tags.map(({ tag }) => tag),
    ['b', '\ufe4f', '\u{1f600}'],
  );
  await writers[0]?.set('b', 6);
  const { lowest: next } = await store.aggregate(JOB_ID, {});
  assert.deepEqual(shortOf(next).slice(0, 2), [0, '\ufe4f']);
}

async function expectedTags({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 2, expectedTags: ['all'] });
  await writers[0]?.set('all', FINISHED);
  await writers[0]?.set('own', FINISHED);
  const whole = await store.aggregate(JOB_ID, {});
  assert.deepEqual(whole.cells, countsOf({ finished: 2, notStarted: 1 }));
  assert.deepEqual(shortOf(whole.lowest).slice(0, 2), [1, 'all']);
  const own = whole.tags.find(({ tag }) => tag === 'own');
  assert.deepEqual(own?.cells, countsOf({ finished: 1, notStarted: 1 }));
  assert.deepEqual((await store.aggregate(JOB_ID, { tag: 'own' })).cells, own?.cells);
  assert.deepEqual((await store.aggregate(JOB_ID, { taskId: 0 })).cells, countsOf({ finished: 2 }));
}

async function laterExpectedTags({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  await setAll(writers, { a: [FINISHED, FINISHED] });
  assert.equal((await store.aggregate(JOB_ID, {})).percent, 100);
  await store.updateJob(JOB_ID, { expectedTags: ['b'] });
  const widened = await store.aggregate(JOB_ID, {});
  assert.deepEqual(widened.cells, countsOf({ finished: 2, notStarted: 2 }));
  await store.updateJob(JOB_ID, { expectedTags: [] });
  assert.equal((await store.aggregate(JOB_ID, {})).percent, 100);
}

async function percent({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 3 });
  const seen: number[] = [];
  for (const writer of writers) {
    await writer.set('a', FINISHED);
    seen.push((await store.aggregate(JOB_ID, { tag: 'a' })).percent);
  }
  assert.deepEqual(seen, [33.3, 66.6, 100]);
}

async function equalsFold({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 3, expectedTags: ['b'] });
  const steps = [
    [0, 'a', 5],
    [1, 'b', -1],
    [2, 'a', -2],
    [1, 'b', FINISHED],
    [0, 'a', 0],
    [2, 'a', FINISHED],
    [0, 'b', -5],
    [0, 'a', FINISHED],
    [0, 'b', -2],
  ] as const;
  for (const [task, tag, status] of steps) {
    await writers[task]?.set(tag, status);
    await assertFold(store);
  }
}

async function assertFold(store: JobStore): Promise<void> {
  const job = (await store.getJob(JOB_ID)) ?? assert.fail('the job is gone');
  const { states } = await store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 1_000 });
  for (const scope of scopesOf(job.numTasks, ['a', 'b', 'c'])) {
    const expected = foldStates({ job, states, lostTaskIds: new Set() }, scope);
    const actual = await store.aggregate(JOB_ID, scope);
    assert.deepEqual(actual, expected, JSON.stringify(scope));
    const { total, ...classes } = actual.cells;
    const sum = Object.values(classes).reduce((all, count) => all + count, 0);
    assert.equal(sum, total);
  }
}

function* scopesOf(numTasks: number, tags: readonly string[]): Generator<Scope> {
  yield {};
  for (const tag of tags) yield { tag };
  for (let taskId = 0; taskId < numTasks; taskId += 1) {
    yield { taskId };
    for (const tag of tags) yield { taskId, tag };
  }
}

async function setAll(
  writers: readonly TaskWriter[],
  statuses: Readonly<Record<string, readonly number[]>>,
): Promise<void> {
  for (const [tag, list] of Object.entries(statuses))
    for (const [task, status] of list.entries()) await writers[task]?.set(tag, status);
}

function shortOf({ taskId, tag, status, version }: State): [number, string, number, number] {
  return [taskId, tag, status, version];
}

function countsOf(some: Partial<Progress['cells']>): Progress['cells'] {
  const counts = { notStarted: 0, running: 0, finished: 0, warned: 0, failed: 0, ...some };
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { ...counts, total };
}
