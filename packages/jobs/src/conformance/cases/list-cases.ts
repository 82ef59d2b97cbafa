// Pages of states: ascending by revision, complete, even during writes.
import assert from 'node:assert/strict';
import type { Scope, State } from '../../job.js';
import type { JobStore } from '../../job-store.js';
import { createStaffedJob, JOB_ID } from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';

export const listCases: Cases = {
  'lists the latest state of each key, by revision, for each scope': scopes,
  'pages contain all states, whatever their size': pages,
  'a state that is rewritten between two pages moves to a later one': rewrittenBetweenPages,
  'a page reports up to where it is complete': completeTo,
  'an empty list is a page, too': emptyList,
};

async function scopes({ subject: { store } }: CaseContext): Promise<void> {
  const { writers, job } = await createStaffedJob(store, { numTasks: 2 });
  for (const [task, tag] of [
    [0, 'a'],
    [0, 'b'],
    [1, 'b'],
    [0, 'a'],
  ] as const)
    await writers[task]?.set(tag, 1);
  const keys = async (scope: Scope) => (await listAll(store, scope, 10)).map(keyOf);
  assert.deepEqual(await keys({}), ['0b1', '1b1', '0a2']);
  assert.deepEqual(await keys({ tag: 'b' }), ['0b1', '1b1']);
  assert.deepEqual(await keys({ taskId: 0 }), ['0b1', '0a2']);
  assert.deepEqual(await keys({ taskId: 1, tag: 'b' }), ['1b1']);
  const page = await store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 10 });
  assert.equal(page.incarnation, job.incarnation);
}

async function pages({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 3 });
  for (const tag of ['a', 'b', 'c']) await Promise.all(writers.map((writer) => writer.set(tag, 1)));
  const whole = await listAll(store, {}, 1_000);
  assert.equal(whole.length, 9);
  for (const limit of [1, 2, 4, 9, 10])
    assert.deepEqual(await listAll(store, {}, limit), whole, `pages of ${limit}`);
}

async function rewrittenBetweenPages({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  for (const tag of ['a', 'b', 'c']) await writers[0]?.set(tag, 1);
  const first = await store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 1 });
  assert.deepEqual([first.states.map(keyOf), first.more], [['0a1'], true]);
  await writers[0]?.set('b', 2);
  const rest = await store.listStates(JOB_ID, {}, { afterRevision: first.revision, limit: 9 });
  assert.deepEqual([rest.states.map(keyOf), rest.more], [['0c1', '0b2'], false]);
}

async function completeTo({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  await writers[0]?.set('a', 1);
  const outOfScope = await writers[1]?.set('a', 1);
  const page = await store.listStates(JOB_ID, { taskId: 0 }, { afterRevision: 0, limit: 1 });
  assert.ok(!page.more && page.revision >= (outOfScope?.revision ?? 0), JSON.stringify(page));
  const next = await store.listStates(
    JOB_ID,
    { taskId: 0 },
    { afterRevision: page.revision, limit: 1 },
  );
  assert.deepEqual([next.states, next.more], [[], false]);
}

async function emptyList({ subject: { store } }: CaseContext): Promise<void> {
  await createStaffedJob(store, { numTasks: 1 });
  const page = await store.listStates(JOB_ID, { tag: 'none' }, { afterRevision: 0, limit: 5 });
  assert.deepEqual([page.states, page.more], [[], false]);
}

async function listAll(store: JobStore, scope: Scope, limit: number): Promise<readonly State[]> {
  const states: State[] = [];
  let afterRevision = 0;
  for (;;) {
    const page = await store.listStates(JOB_ID, scope, { afterRevision, limit });
    assert.ok(page.states.length <= limit, `${page.states.length} states on a page of ${limit}`);
    states.push(...page.states);
    if (!page.more) return states;
    assert.ok(page.revision > afterRevision, `a page goes on at ${page.revision}`);
    afterRevision = page.revision;
  }
}

function keyOf({ taskId, tag, version }: State): string {
  return `${taskId}${tag}${version}`;
}
