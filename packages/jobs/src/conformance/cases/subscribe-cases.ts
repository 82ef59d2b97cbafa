// What a subscriber sees: the existing states, a marker, then live changes.
//
// J11  A scoped stream equals the filtered whole one.
// J16  No synthesized state in a stream; one `synced` per replay.
// J20  Bad input gets its code.
import assert from 'node:assert/strict';
import type { Scope, State } from '../../job.js';
import type { JobEvent } from '../../job-store.js';
import { createStaffedJob, currentRevision, JOB_ID } from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { isRefused } from '../refused.js';
import { StreamReader } from '../stream-reader.js';
import { readCursor } from '../trace/cursor-parts.js';
import { isInScope } from '../trace/keys.js';

export const subscribeCases: Cases = {
  'J16 an empty scope gets its synced, and no synthesized states': emptyScope,
  'J16 a replay is one state per key, ascending by revision, then one synced': replay,
  'a change is delivered completely, with its own cursor': change,
  'J11 a scoped stream equals the filtered whole one': scopedStreams,
  'batches hold the same events, and none is empty': batches,
  'J20 a batch size of 0 is refused': emptyBatches,
  'a subscription can be read once': readOnce,
  'leaving the loop, disposing and the signal end a subscription without an error': ends,
  'its cursor is that of the last delivered event': cursor,
};

async function emptyScope({ subject, capabilities }: CaseContext): Promise<void> {
  await createStaffedJob(subject.store, { expectedTags: ['a'] });
  const revision = await currentRevision(subject.store);
  await using reader = new StreamReader(subject, { scope: { taskId: 1, tag: 'a' } });
  const event = await reader.nextNews();
  assert.ok(event?.kind === 'synced', JSON.stringify(event));
  const { cursor: _, ...synced } = event;
  const { history } = capabilities;
  assert.deepEqual(synced, { kind: 'synced', revision, history, resumed: false });
}

async function replay({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 2 });
  const states: State[] = [];
  for (const [task, tag] of [
    [0, 'a'],
    [1, 'a'],
    [0, 'b'],
    [0, 'a'],
  ] as const)
    states.push((await writers[task]?.set(tag, 1)) ?? assert.fail());
  await using reader = new StreamReader(subject);
  const events = (await reader.untilKind('synced')).filter(isNews);
  const shown = events.flatMap((event) => (event.kind === 'snapshot' ? [event.state] : []));
  assert.deepEqual(shown, states.slice(1));
  const synced = events.at(-1);
  assert.equal(events.length, 4);
  assert.equal(synced?.kind === 'synced' && synced.revision, states.at(-1)?.revision);
}

async function change({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  await using reader = new StreamReader(subject);
  await reader.untilKind('synced');
  const cursors: string[] = [];
  for (const status of [1, -2, 2_147_483_647]) {
    const state = await writers[0]?.set('a', status, { payload: { status } });
    const event = await reader.nextNews();
    assert.ok(event?.kind === 'change', JSON.stringify(event));
    assert.deepEqual(event.state, state);
    assert.equal(readCursor(event.cursor)?.revision, state?.revision);
    cursors.push(event.cursor);
  }
  assert.equal(new Set(cursors).size, 3);
}

async function scopedStreams({ subject, capabilities }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 2 });
  const scopes: readonly Scope[] = [{}, { tag: 'b' }, { taskId: 1 }, { taskId: 0, tag: 'a' }];
  await writers[0]?.set('a', 1);
  await writers[1]?.set('b', 1);
  const readers = scopes.map((scope) => new StreamReader(subject, { scope }));
  for (const reader of readers) await reader.untilKind('synced');
  for (let round = 0; round < 5; round += 1)
    await Promise.all(writers.flatMap((one) => ['a', 'b'].map((tag) => one.set(tag, round))));
  const last = await subject.store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 100 });
  const seen: (readonly State[])[] = [];
  for (const [index, reader] of readers.entries()) {
    const scope = scopes[index] ?? {};
    const final = last.states.findLast((state) => isInScope(scope, state));
    await reader.untilRevision(final?.revision ?? assert.fail('nothing in scope'));
    seen.push(statesOf(reader.seen));
    await reader[Symbol.asyncDispose]();
  }
  const [whole = []] = seen;
  for (const [index, narrow] of seen.entries()) {
    const scope = scopes[index] ?? {};
    const expected = whole.filter((state) => isInScope(scope, state));
    if (capabilities.history === 'all') assert.deepEqual(narrow, expected, JSON.stringify(scope));
    else assert.deepEqual(latestOf(narrow), latestOf(expected), JSON.stringify(scope));
  }
}

async function batches({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  for (const tag of ['a', 'b', 'c', 'd', 'e']) await writers[0]?.set(tag, 1);
  const seen: JobEvent[] = [];
  for await (const batch of subject.store.subscribe(JOB_ID, { scope: {} }).batches(2)) {
    assert.ok(batch.length > 0 && batch.length <= 2, `${batch.length} events in a batch of 2`);
    seen.push(...batch.filter(isNews));
    if (batch.some(({ kind }) => kind === 'synced')) break;
  }
  assert.deepEqual(
    statesOf(seen).map(({ tag }) => tag),
    ['a', 'b', 'c', 'd', 'e'],
  );
  assert.equal(seen.length, 6);
}

async function emptyBatches({ subject }: CaseContext): Promise<void> {
  await createStaffedJob(subject.store);
  for (const max of [0, -1, 1.5, Number.NaN]) {
    await using subscription = subject.store.subscribe(JOB_ID, { scope: {} });
    const firstPull = async () => subscription.batches(max)[Symbol.asyncIterator]().next();
    await isRefused(firstPull, 'invalid-argument', { field: 'max' });
  }
}

async function readOnce({ subject }: CaseContext): Promise<void> {
  await createStaffedJob(subject.store);
  await using subscription = subject.store.subscribe(JOB_ID, { scope: {} });
  const first = subscription[Symbol.asyncIterator]();
  await first.next();
  await assert.rejects(async () => subscription[Symbol.asyncIterator]().next(), {
    code: 'conflict',
  });
}

async function ends({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store);
  for await (const event of subject.store.subscribe(JOB_ID, { scope: {} }))
    if (event.kind === 'synced') break;
  const controller = new AbortController();
  const aborted = new StreamReader(subject, { signal: controller.signal });
  await aborted.untilKind('synced');
  const waiting = aborted.ends();
  controller.abort();
  await waiting;
  const disposed = new StreamReader(subject);
  await disposed.untilKind('synced');
  await writers[0]?.set('a', 1);
  await disposed[Symbol.asyncDispose]();
  await disposed.ends();
  const never = new StreamReader(subject, { signal: AbortSignal.abort() });
  await never.ends();
  assert.deepEqual(never.seen, []);
}

async function cursor({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  await writers[0]?.set('a', 1);
  await writers[0]?.set('b', 1);
  await using reader = new StreamReader(subject);
  assert.equal(reader.cursor, undefined);
  for (;;) {
    const event = await reader.next();
    if (event && 'cursor' in event) assert.equal(reader.cursor, event.cursor);
    if (event?.kind === 'synced') return;
  }
}

function isNews({ kind }: JobEvent): boolean {
  return kind !== 'live' && kind !== 'stale';
}

function statesOf(events: readonly JobEvent[]): readonly State[] {
  return events.flatMap((event) => ('state' in event ? [event.state] : []));
}

function latestOf(states: readonly State[]): ReadonlyMap<string, State> {
  return new Map(states.map((state) => [`${state.taskId} ${state.tag}`, state]));
}
