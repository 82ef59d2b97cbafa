// Bad input: each kind gets its code and changes nothing, and each limit is tested at n − 1, n and n + 1.
//
// J20  Bad input gets its code and changes nothing.
import assert from 'node:assert/strict';
import type { JsonObject } from '../../job.js';
import type { JobStore, StateWrite } from '../../job-store.js';
import { jobsLimits } from '../../limits.js';
import {
  at,
  createJob,
  createStaffedJob,
  currentRevision,
  isRevisionAfter,
  JOB_ID,
} from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { isRefused } from '../refused.js';

export const inputCases: Cases = {
  'J20 a malformed write is refused, and nothing changes': malformedWrites,
  'J20 names and texts are accepted up to their limit': textLimits,
  'J20 payloads are accepted up to their size and depth': payloadLimits,
  'J20 a payload that JSON cannot hold is refused': badPayloads,
  'J20 jobs are accepted up to their limits': jobLimits,
  'J20 labels are accepted up to their limits': labelLimits,
  'J20 tags of a job are accepted up to their limit, expected ones included': tagLimit,
  'J20 leases are accepted within their bounds': leaseLimits,
  'J20 malformed subscriptions are refused at the first pull': badSubscriptions,
  'J20 malformed reads are refused': badReads,
};

const { value: MESSAGE_MAX } = jobsLimits.messageBytesMax;
const { value: PAYLOAD_MAX } = jobsLimits.payloadBytesMax;
const { value: DEPTH_MAX } = jobsLimits.payloadDepthMax;

/** Sends writes that must be refused, to a job with one claimed task. */
async function refuseAll(
  store: JobStore,
  field: string,
  bad: readonly Partial<Record<keyof StateWrite, unknown>>[],
): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1, jobId: `refuse-${field}` });
  const before = await currentRevision(store, `refuse-${field}`);
  for (const more of bad)
    await isRefused(
      () => at(writers, 0).send('a', 1, more as Partial<StateWrite>),
      'invalid-argument',
      { field },
    );
  assert.equal(await currentRevision(store, `refuse-${field}`), before);
}

async function malformedWrites({ subject: { store } }: CaseContext): Promise<void> {
  await refuseAll(store, 'tag', [{ tag: '' }, { tag: 'a\nb' }, { tag: '\ud800' }]);
  await refuseAll(store, 'status', [
    { status: 0.5 },
    { status: 2 ** 31 },
    { status: -(2 ** 31) - 1 },
  ]);
  await refuseAll(store, 'status', [{ status: Number.NaN }]);
  await refuseAll(store, 'taskId', [{ taskId: 1 }, { taskId: -1 }, { taskId: 0.5 }]);
  await refuseAll(store, 'eventId', [{ eventId: '' }, { eventId: 'é' }, { eventId: 'a\n' }]);
  await refuseAll(store, 'jobId', [
    { jobId: '' },
    { jobId: '-a' },
    { jobId: 'a/b' },
    { jobId: 'é' },
  ]);
  await refuseAll(store, 'ifVersion', [{ ifVersion: -1 }, { ifVersion: 0.5 }]);
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  for (const status of [2_147_483_647, -2_147_483_648])
    assert.equal((await at(writers, 0).set('a', status)).status, status);
}

async function textLimits({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const writer = at(writers, 0);
  const { tagBytesMax, eventIdLengthMax } = jobsLimits;
  for (const over of [-1, 0]) {
    await writer.set('t'.repeat(tagBytesMax.value + over), 1);
    await writer.set('a', 1, { eventId: 'e'.repeat(eventIdLengthMax.value + over) });
    await writer.set('a', 1, { message: 'm'.repeat(MESSAGE_MAX + over) });
  }
  await writer.set('é'.repeat(tagBytesMax.value / 2), 1);
  await writer.set('a', 1, { message: '🔴'.repeat(MESSAGE_MAX / 4) });
  const before = await currentRevision(store);
  const longTag = 't'.repeat(tagBytesMax.value + 1);
  await isRefused(writer.send(longTag, 1), 'invalid-argument', { field: 'tag' });
  const wideTag = 'é'.repeat(tagBytesMax.value / 2 + 1);
  await isRefused(writer.send(wideTag, 1), 'invalid-argument', { field: 'tag' });
  const eventId = 'e'.repeat(eventIdLengthMax.value + 1);
  await isRefused(writer.send('a', 1, { eventId }), 'invalid-argument', { field: 'eventId' });
  for (const message of ['m'.repeat(MESSAGE_MAX + 1), `${'🔴'.repeat(MESSAGE_MAX / 4)}.`])
    await isRefused(writer.send('a', 1, { message }), 'limit-exceeded', {
      limit: 'messageBytesMax',
    });
  assert.equal(await currentRevision(store), before);
}

async function payloadLimits({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const writer = at(writers, 0);
  for (const over of [-1, 0]) {
    const payload = payloadOf(PAYLOAD_MAX + over);
    assert.deepEqual((await writer.set('a', 1, { payload })).payload, payload);
    const deep = nested(DEPTH_MAX + over);
    assert.deepEqual((await writer.set('a', 1, { payload: deep })).payload, deep);
  }
  const before = await currentRevision(store);
  const large = payloadOf(PAYLOAD_MAX + 1);
  await isRefused(writer.send('a', 1, { payload: large }), 'limit-exceeded', {
    limit: 'payloadBytesMax',
  });
  const deep = nested(DEPTH_MAX + 1);
  await isRefused(writer.send('a', 1, { payload: deep }), 'invalid-argument', { field: 'payload' });
  assert.equal(await currentRevision(store), before);
}

async function badPayloads({ subject: { store } }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(store, { numTasks: 1 });
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = { cyclic };
  const bad = [
    null,
    [],
    'text',
    5,
    { number: Number.NaN },
    { number: Number.POSITIVE_INFINITY },
    { when: new Date(0) },
    { big: 1n },
    cyclic,
  ];
  for (const payload of bad) {
    const write = at(writers, 0).write('a', 1, { payload: payload as unknown as JsonObject });
    const error = await isRefused(() => store.setState(write), 'invalid-argument', {
      field: 'payload',
    });
    assert.ok(Array.isArray(error.details['issues']), 'details.issues says what is wrong');
  }
  assert.equal(await store.getState(JOB_ID, 0, 'a'), undefined);
}

async function jobLimits({ subject: { store } }: CaseContext): Promise<void> {
  const { jobIdLengthMax, tasksPerJobMax } = jobsLimits;
  for (const over of [-1, 0]) {
    await createJob(store, { jobId: 'j'.repeat(jobIdLengthMax.value + over) });
    const numTasks = tasksPerJobMax.value + over;
    assert.equal((await createJob(store, { jobId: `n${numTasks}`, numTasks })).numTasks, numTasks);
  }
  const long = { jobId: 'j'.repeat(jobIdLengthMax.value + 1) };
  await isRefused(() => createJob(store, long), 'invalid-argument', { field: 'jobId' });
  for (const jobId of ['', '.a', 'a b', 'a/b', 'é'])
    await isRefused(() => createJob(store, { jobId }), 'invalid-argument', { field: 'jobId' });
  for (const numTasks of [0, -1, 1.5, tasksPerJobMax.value + 1, Number.NaN])
    await isRefused(() => createJob(store, { numTasks }), 'invalid-argument', {
      field: 'numTasks',
    });
  const bad = { expectedTags: ['a', ''] };
  await isRefused(() => createJob(store, bad), 'invalid-argument', { field: 'expectedTags' });
  assert.equal(await store.getJob(JOB_ID), undefined);
}

async function labelLimits({ subject: { store }, capabilities }: CaseContext): Promise<void> {
  const { labelsMax, labelNameBytesMax, labelValueBytesMax } = jobsLimits;
  const job = await createJob(store);
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, 'v']));
  const named = (length: number) => ({ ['n'.repeat(length)]: 'v' });
  const valued = (length: number) => ({ name: 'v'.repeat(length) });
  for (const [limit, labelsOf, max] of [
    ['labelsMax', many, labelsMax.value],
    ['labelNameBytesMax', named, labelNameBytesMax.value],
    ['labelValueBytesMax', valued, labelValueBytesMax.value],
  ] as const) {
    for (const over of [-1, 0]) {
      const labels = labelsOf(max + over);
      assert.deepEqual((await store.updateJob(JOB_ID, { labels })).labels, labels);
    }
    const labels = labelsOf(max + 1);
    await isRefused(() => store.updateJob(JOB_ID, { labels }), 'limit-exceeded', { limit });
    await isRefused(() => createJob(store, { jobId: 'new', labels }), 'limit-exceeded', { limit });
  }
  const labels = { note: 'a\0b' };
  await isRefused(() => store.updateJob(JOB_ID, { labels }), 'invalid-argument', {
    field: 'labels',
  });
  const after = { before: job.revision, changes: 6 };
  isRevisionAfter(capabilities, await currentRevision(store), after);
}

async function tagLimit({ subject: { store } }: CaseContext): Promise<void> {
  const { value: tagsMax } = jobsLimits.tagsPerJobMax;
  const expectedTags = Array.from({ length: tagsMax - 1 }, (_, index) => `t${index}`);
  const { writers } = await createStaffedJob(store, { numTasks: 1, expectedTags });
  const writer = at(writers, 0);
  await writer.set('t0', 1);
  await writer.set('one more', 1);
  const refusal = { limit: 'tagsPerJobMax' };
  await isRefused(writer.send('too many', 1), 'limit-exceeded', refusal);
  await writer.set('one more', 2);
  const widened = [...expectedTags, 'x'];
  await isRefused(
    () => store.updateJob(JOB_ID, { expectedTags: widened }),
    'limit-exceeded',
    refusal,
  );
  const spec = { jobId: 'wide', expectedTags: [...widened, 'y'] };
  await isRefused(() => createJob(store, spec), 'limit-exceeded', refusal);
}

async function leaseLimits({ subject: { store } }: CaseContext): Promise<void> {
  const { leaseTtlMinMs, leaseTtlMaxMs, holderLengthMax } = jobsLimits;
  const { incarnation } = await createJob(store, { numTasks: 1 });
  const claim = (more: object) =>
    store.lease({
      jobId: JOB_ID,
      incarnation,
      taskId: 0,
      action: 'claim',
      epoch: 0,
      ttlMs: 0,
      holder: '',
      ...more,
    });
  for (const ttlMs of [0, leaseTtlMinMs.value, leaseTtlMaxMs.value - 1, leaseTtlMaxMs.value])
    assert.equal((await claim({ ttlMs })).ttlMs, ttlMs);
  await claim({ holder: 'h'.repeat(holderLengthMax.value) });
  const before = await currentRevision(store);
  for (const ttlMs of [-1, 1, leaseTtlMinMs.value - 1, leaseTtlMaxMs.value + 1, 1_000.5])
    await isRefused(() => claim({ ttlMs }), 'invalid-argument', { field: 'ttlMs' });
  for (const taskId of [1, -1, 0.5])
    await isRefused(() => claim({ taskId }), 'invalid-argument', { field: 'taskId' });
  const holder = 'h'.repeat(holderLengthMax.value + 1);
  await isRefused(() => claim({ holder }), 'invalid-argument', { field: 'holder' });
  assert.equal(await currentRevision(store), before);
}

async function badSubscriptions({ subject: { store } }: CaseContext): Promise<void> {
  const { incarnation } = await createJob(store, { numTasks: 2 });
  const { bufferEventsMin, bufferEventsMax, bufferBytesMin, bufferBytesMax } = jobsLimits;
  const events = { min: bufferEventsMin.value, max: bufferEventsMax.value };
  const bytes = { min: bufferBytesMin.value, max: bufferBytesMax.value };
  const first = async (options: object) => {
    const subscription = store.subscribe(JOB_ID, { scope: {}, ...options });
    await using _ = subscription;
    return await subscription[Symbol.asyncIterator]().next();
  };
  for (const buffer of [
    { maxEvents: events.min, maxBytes: bytes.min },
    { maxEvents: events.max, maxBytes: bytes.max },
  ])
    assert.equal((await first({ buffer })).done, false);
  for (const maxEvents of [events.min - 1, events.max + 1, 4.5])
    await isRefused(() => first({ buffer: { maxEvents } }), 'invalid-argument', {
      field: 'buffer.maxEvents',
    });
  for (const maxBytes of [bytes.min - 1, bytes.max + 1])
    await isRefused(() => first({ buffer: { maxBytes } }), 'invalid-argument', {
      field: 'buffer.maxBytes',
    });
  for (const after of ['', 'x', `${incarnation}:`, `${incarnation}:-1`, `${incarnation}:1~~`, ':1'])
    await isRefused(() => first({ after }), 'invalid-argument', { field: 'after' });
  await isRefused(() => first({ scope: { taskId: 2 } }), 'invalid-argument', { field: 'taskId' });
  await isRefused(() => first({ scope: { tag: '' } }), 'invalid-argument', { field: 'tag' });
}

async function badReads({ subject: { store } }: CaseContext): Promise<void> {
  await createJob(store, { numTasks: 2 });
  const refusal = { field: 'taskId' };
  await isRefused(() => store.getState(JOB_ID, 2, 'a'), 'invalid-argument', refusal);
  await isRefused(() => store.aggregate(JOB_ID, { taskId: 2 }), 'invalid-argument', refusal);
  const page = { afterRevision: 0, limit: 1 };
  const outside = { taskId: 2 };
  await isRefused(() => store.listStates(JOB_ID, outside, page), 'invalid-argument', refusal);
  await isRefused(() => store.getState(JOB_ID, 0, ''), 'invalid-argument', { field: 'tag' });
  await isRefused(() => store.getJob('a b'), 'invalid-argument', { field: 'jobId' });
  const none = { ...page, limit: 0 };
  await isRefused(() => store.listStates(JOB_ID, {}, none), 'invalid-argument', { field: 'limit' });
}

/** An object of this many bytes as JSON. */
function payloadOf(bytes: number): JsonObject {
  return { text: 'x'.repeat(bytes - '{"text":""}'.length) };
}

/** This many nested objects. */
function nested(depth: number): JsonObject {
  return depth === 1 ? {} : { inside: nested(depth - 1) };
}
