// Closing a store: waiting calls end, later ones fail with `closed`, and nothing is left behind.
//
// J21  After `close()` no timer and no iterator is left.
import assert from 'node:assert/strict';
import { at, createStaffedJob, JOB_ID } from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { isRefused } from '../refused.js';
import { StreamReader } from '../stream-reader.js';

export const closeCases: Cases = {
  'J21 closing ends waiting subscriptions': closeEnds,
  'a closed store refuses every call as closed': closedRefuses,
  'a store may be closed twice, even at the same time': closeTwice,
  'a call whose signal has already fired is aborted and changes nothing': abortedCall,
};

/** For stores whose timers can be counted. */
export const timerCases: Cases = {
  'J21 closing leaves no timer': async (context) => {
    await closeEnds(context);
    assert.equal(context.pendingTimers?.(context.subject), 0);
  },
};

async function closeEnds({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 2 });
  await at(writers, 0).set('a', 1);
  const { jobId, incarnation } = at(writers, 0).job;
  const claim = { action: 'claim', epoch: 0, ttlMs: 60_000, holder: '' } as const;
  await subject.store.lease({ jobId, incarnation, taskId: 0, ...claim });
  const waiting = new StreamReader(subject);
  await waiting.untilKind('synced');
  const unread = new StreamReader(subject);
  await unread.next();
  const ended = waiting.ends();
  await subject.store.close();
  await ended;
  await unread.ends();
}

async function closedRefuses({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const writer = at(writers, 0);
  await store.close();
  for (const call of [
    () => store.createJob({ jobId: 'new', numTasks: 1 }),
    () => store.getJob(JOB_ID),
    () => store.listJobs({}),
    () => store.updateJob(JOB_ID, { labels: {} }),
    () => store.markJobDeleted(JOB_ID),
    () => store.deleteJob(JOB_ID),
    () => writer.act('renew'),
    () => writer.send('a', 1),
    () => store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 1 }),
    () => store.getState(JOB_ID, 0, 'a'),
    () => store.aggregate(JOB_ID, {}),
    () => store.listLost(JOB_ID),
    () => store.subscribe(JOB_ID, { scope: {} })[Symbol.asyncIterator]().next(),
  ])
    await isRefused(call, 'closed');
}

async function closeTwice({ subject: { store } }: CaseContext): Promise<void> {
  await createStaffedJob(store);
  await Promise.all([store.close(), store.close()]);
  await store.close();
}

async function abortedCall({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const call = { signal: AbortSignal.abort() };
  const write = at(writers, 0).write('a', 1);
  await isRefused(store.setState(write, call), 'aborted');
  await isRefused(store.getJob(JOB_ID, call), 'aborted');
  await isRefused(store.createJob({ jobId: 'other', numTasks: 1 }, call), 'aborted');
  assert.equal(await store.getState(JOB_ID, 0, 'a'), undefined);
  assert.equal(await store.getJob('other'), undefined);
}
