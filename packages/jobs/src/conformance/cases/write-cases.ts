// One write: its version and revision, its event id, its condition, and its result.
//
// J1  Versions of a key and revisions of a job increase by exactly one per applied change.
// J2  One event id makes at most one version; every repeat returns the first result.
import assert from 'node:assert/strict';
import { jobsLimits } from '../../limits.js';
import { createStaffedJob, currentRevision, isRevisionAfter, JOB_ID } from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { isRefused } from '../refused.js';

export const writeCases: Cases = {
  'J1 a write is stored completely, with version, revision and time': wholeWrite,
  'J1 versions count per key, revisions per job': counts,
  'J1 concurrent writes of one key get different versions': concurrentWrites,
  'equal content under a new event id is a new write': equalContent,
  'finished is not final': finishedIsNotFinal,
  'J2 a repeated event id returns the first result and writes nothing': repeatedEvent,
  'J2 an event id that arrives twice at once makes one version': doubledEvent,
  'J2 a repeat succeeds although the version has changed': lateRepeat,
  'J2 the last event ids of a key are remembered, an older one is a new write': forgottenEvent,
  'J2 an event id with different content is a conflict': reusedEvent,
  'an event id belongs to its key': eventPerKey,
  'ifVersion applies only at that version': ifVersion,
  'ifVersion 0 applies only to a key that was never written': ifNeverWritten,
  'exactly one of several concurrent writes with the same ifVersion applies': ifVersionRace,
};

type Context = CaseContext;

async function wholeWrite({ subject: { store }, capabilities }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store);
  const before = await currentRevision(store);
  const payload = { text: 'ü', list: [1, null, [true]], __x__: { deep: -0.5 } };
  const message = '🟢 häf';
  const state = await writers[1]?.set('täg/1', -7, { payload, message, schemaVersion: 3 });
  const { timestampMs, eventId, revision, ...rest } = state ?? assert.fail('no state');
  assert.deepEqual(rest, {
    jobId: JOB_ID,
    taskId: 1,
    tag: 'täg/1',
    status: -7,
    statusClass: 'failed',
    message,
    payload,
    schemaVersion: 3,
    version: 1,
  });
  isRevisionAfter(capabilities, revision, { before });
  assert.ok(timestampMs > 0 && eventId.length > 0, `${timestampMs} ${eventId}`);
  assert.deepEqual(await store.getState(JOB_ID, 1, 'täg/1'), state);
  const job = await store.getJob(JOB_ID);
  assert.deepEqual([job?.revision, job?.changedAtMs], [revision, timestampMs]);
}

async function counts({ subject: { store }, capabilities }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  let before = await currentRevision(store);
  const versions: unknown[] = [];
  for (const [task, tag] of [
    [0, 'a'],
    [0, 'b'],
    [1, 'a'],
    [0, 'a'],
    [1, 'a'],
  ] as const) {
    const state = await writers[task]?.set(tag, 1);
    versions.push(state?.version);
    isRevisionAfter(capabilities, state?.revision, { before });
    before = state?.revision ?? 0;
  }
  assert.deepEqual(versions, [1, 1, 1, 2, 2]);
}

async function concurrentWrites({ subject: { store }, capabilities }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  let before = await currentRevision(store);
  const states = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => writers[index % 2]?.set('a', index)),
  );
  const revisions = states.map((state) => state?.revision ?? 0);
  for (const revision of revisions.sort((left, right) => left - right)) {
    isRevisionAfter(capabilities, revision, { before });
    before = revision;
  }
  for (const taskId of [0, 1]) {
    const versions = states
      .filter((state) => state?.taskId === taskId)
      .map((state) => state?.version);
    assert.deepEqual(new Set(versions), new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
  }
}

async function equalContent({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  await writers[0]?.set('a', 1);
  assert.equal((await writers[0]?.set('a', 1))?.version, 2);
}

async function finishedIsNotFinal({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  await writers[0]?.set('a', 2_147_483_647);
  await writers[0]?.set('a', 1);
  assert.equal((await store.getState(JOB_ID, 0, 'a'))?.status, 1);
}

async function repeatedEvent({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const write = writers[0]?.write('a', 5, { payload: { b: 1, a: 2 } }) ?? assert.fail();
  const first = await store.setState(write);
  assert.ok(first.applied && !first.duplicate);
  const again = await store.setState({ ...write, payload: { a: 2, b: 1 } });
  assert.deepEqual(again, { ...first, duplicate: true });
  assert.equal(await currentRevision(store), first.state.revision);
}

async function doubledEvent({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const write = writers[0]?.write('a', 5) ?? assert.fail();
  const answers = await Promise.all([write, write, write].map((one) => store.setState(one)));
  const states = answers.map((answer) => (answer.applied ? answer.state : assert.fail()));
  assert.deepEqual(new Set(states.map(({ version }) => version)), new Set([1]));
  assert.equal(answers.filter((answer) => answer.applied && !answer.duplicate).length, 1);
  for (const state of states) assert.deepEqual(state, states[0]);
}

async function lateRepeat({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const write = writers[0]?.write('a', 5, { ifVersion: 0 }) ?? assert.fail();
  const first = await store.setState(write);
  await writers[0]?.set('a', 6);
  assert.deepEqual(await store.setState(write), { ...first, duplicate: true });
  assert.equal((await store.getState(JOB_ID, 0, 'a'))?.status, 6);
}

async function forgottenEvent({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const { value: remembered } = jobsLimits.recentEventIdsMax;
  const writes = Array.from({ length: remembered + 1 }, (_, index) =>
    writers[0]?.write('a', index),
  );
  for (const write of writes) await store.setState(write ?? assert.fail());
  const second = await store.setState(writes[1] ?? assert.fail());
  assert.ok(second.applied && second.duplicate && second.state.version === 2);
  const first = await store.setState(writes[0] ?? assert.fail());
  assert.ok(first.applied && !first.duplicate && first.state.version === remembered + 2);
}

async function reusedEvent({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const write = writers[0]?.write('a', 5, { payload: { a: 1 } }) ?? assert.fail();
  await store.setState(write);
  const before = await currentRevision(store);
  const { payload: _, ...withoutPayload } = write;
  for (const other of [
    { ...write, status: 6 },
    { ...write, message: 'other' },
    { ...write, schemaVersion: 2 },
    { ...write, payload: { a: 2 } },
    withoutPayload,
  ])
    await isRefused(store.setState(other), 'conflict', { reason: 'event-id' });
  assert.equal(await currentRevision(store), before);
}

async function eventPerKey({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 2 });
  for (const [task, tag] of [
    [0, 'a'],
    [0, 'b'],
    [1, 'a'],
  ] as const)
    await writers[task]?.set(tag, 1, { eventId: 'same' });
}

async function ifVersion({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const current = await writers[0]?.set('a', 1);
  const before = await currentRevision(store);
  for (const wrong of [0, 2, 9])
    assert.deepEqual(await writers[0]?.send('a', 2, { ifVersion: wrong }), {
      applied: false,
      reason: 'version',
      current,
    });
  assert.equal(await currentRevision(store), before);
  assert.equal((await writers[0]?.set('a', 2, { ifVersion: 1 }))?.version, 2);
}

async function ifNeverWritten({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const refused = await writers[0]?.send('a', 1, { ifVersion: 1 });
  assert.ok(refused && !refused.applied);
  const { version, revision, status, timestampMs, eventId, message } = refused.current;
  assert.deepEqual(
    [version, revision, status, timestampMs, eventId, message],
    [0, 0, 0, 0, '', ''],
  );
  assert.equal((await writers[0]?.set('a', 1, { ifVersion: 0 }))?.version, 1);
}

async function ifVersionRace({ subject: { store } }: Context): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const answers = await Promise.all(
    [1, 2, 3, 4].map(async (status) => writers[0]?.send('a', status, { ifVersion: 0 })),
  );
  assert.equal(answers.filter((answer) => answer?.applied).length, 1);
  assert.equal((await store.getState(JOB_ID, 0, 'a'))?.version, 1);
}
