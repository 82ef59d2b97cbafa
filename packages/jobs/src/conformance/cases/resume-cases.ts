// Resuming at a cursor: after it, in the middle of a replay, before the compaction point, and with a cursor that is
// not valid here.
//
// J9  A stream that is cut anywhere and resumed equals the uncut stream, except where a `gap` says otherwise.
import assert from 'node:assert/strict';
import type { State } from '../../job.js';
import type { Cursor, JobEvent } from '../../job-store.js';
import { createStaffedJob, currentRevision, JOB_ID } from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { StreamReader } from '../stream-reader.js';
import { readCursor, writeCursor } from '../trace/cursor-parts.js';

export const resumeCases: Cases = {
  'J9 a resume sends synced at its cursor, then what came after it, then live': behindReplay,
  'J9 a resume at every cursor of a stream continues exactly after it': everyCursor,
  'J9 a cursor inside a replay continues it': insideReplay,
  'a narrow scope resumes where the whole job was': otherScope,
  'a cursor ahead of the store resets': aheadOfStore,
  'a cursor of another incarnation resets': otherIncarnation,
};

/** For stores that can be compacted on request. */
export const compactionCases: Cases = {
  'J9 a cursor below what was compacted gets a gap and the latest of each key': compacted,
  'a new replay after compaction is complete': replayAfterCompaction,
};

async function behindReplay({ subject, capabilities }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  const first = await writers[0]?.set('a', 1);
  const after = await cursorAt(subject, first?.revision ?? 0);
  const second = await writers[0]?.set('b', 2);
  const third = await writers[0]?.set('c', 3);
  await using reader = new StreamReader(subject, { after });
  const events = (await reader.untilKind('live')).filter(({ kind }) => kind !== 'stale');
  const [synced, ...rest] = events;
  const { history } = capabilities;
  const revision = first?.revision ?? 0;
  assert.deepEqual(synced, { kind: 'synced', revision, cursor: after, history, resumed: true });
  assert.deepEqual(statesOf(rest), [second, third]);
  const live = rest.at(-1);
  assert.equal(live?.kind === 'live' && live.revision, third?.revision);
}

async function everyCursor({ subject, capabilities }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 2 });
  await using reader = new StreamReader(subject);
  await reader.untilKind('synced');
  for (const [task, tag] of [
    [0, 'a'],
    [1, 'a'],
    [0, 'a'],
    [0, 'b'],
    [1, 'a'],
  ] as const)
    await reader.untilRevision((await writers[task]?.set(tag, 1))?.revision ?? 0);
  const last = await currentRevision(subject.store);
  const uncut = statesOf(reader.seen);
  for (const event of reader.seen) {
    if (!('cursor' in event)) continue;
    await using part = new StreamReader(subject, { after: event.cursor });
    const revision = readCursor(event.cursor)?.revision ?? 0;
    await part.until(
      (one) => (one.kind === 'live' || one.kind === 'synced') && one.revision >= last,
    );
    const rest = uncut.filter((state) => state.revision > revision);
    if (capabilities.history === 'all') assert.deepEqual(statesOf(part.seen), rest);
    else assert.deepEqual(latestRevisions(statesOf(part.seen)), latestRevisions(rest));
  }
}

async function insideReplay({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  for (const tag of ['a', 'b', 'c']) await writers[0]?.set(tag, 1);
  const reader = new StreamReader(subject);
  const [first] = (await reader.untilKind('snapshot')).slice(-1);
  const { cursor } = reader;
  await reader[Symbol.asyncDispose]();
  assert.ok(first?.kind === 'snapshot' && cursor && readCursor(cursor)?.isInReplay);
  const rewritten = await writers[0]?.set('b', 2);
  await using rest = new StreamReader(subject, { after: cursor });
  const events = await rest.untilKind('synced');
  assert.deepEqual(
    statesOf(events).map(({ tag }) => tag),
    ['c', 'b'],
  );
  const synced = events.at(-1);
  assert.equal(synced?.kind === 'synced' && synced.revision, rewritten?.revision);
}

async function otherScope({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 2 });
  const first = await writers[0]?.set('a', 1);
  const after = await cursorAt(subject, first?.revision ?? 0);
  await writers[0]?.set('a', 2);
  const mine = await writers[1]?.set('a', 3);
  await using reader = new StreamReader(subject, { after, scope: { taskId: 1 } });
  assert.deepEqual(statesOf(await reader.untilKind('live')), [mine]);
}

async function aheadOfStore({ subject }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  const state = await writers[0]?.set('a', 1);
  const revision = state?.revision ?? 0;
  const known = readCursor(await cursorAt(subject, revision)) ?? assert.fail('no cursor');
  const after = writeCursor({ ...known, revision: revision + 100 });
  await using reader = new StreamReader(subject, { after });
  const received = (await reader.untilKind('synced')).filter(({ kind }) => kind !== 'stale');
  const [gap, ...rest] = received.filter(({ kind }) => kind !== 'live');
  const [fromRevision, toRevision] = [revision + 100, revision + 100];
  assert.deepEqual(gap, { kind: 'gap', reason: 'reset', fromRevision, toRevision });
  assert.deepEqual(
    rest.map(({ kind }) => kind),
    ['snapshot', 'synced'],
  );
  const synced = rest.at(-1);
  assert.equal(synced?.kind === 'synced' && synced.resumed, false);
}

async function otherIncarnation({ subject }: CaseContext): Promise<void> {
  const first = await createStaffedJob(subject.store, { numTasks: 1 });
  const old = await first.writers[0]?.set('old', 1);
  const after = await cursorAt(subject, old?.revision ?? 0);
  await subject.store.deleteJob(JOB_ID);
  const second = await createStaffedJob(subject.store, { numTasks: 1 });
  await second.writers[0]?.set('new', 1);
  await using reader = new StreamReader(subject, { after });
  const events = (await reader.untilKind('synced')).filter(({ kind }) => kind !== 'live');
  assert.ok(events[0]?.kind === 'gap' && events[0].reason === 'reset', JSON.stringify(events[0]));
  assert.deepEqual(
    statesOf(events).map(({ tag, version }) => [tag, version]),
    [['new', 1]],
  );
}

async function compacted({ subject, faults }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  const first = await writers[0]?.set('a', 1);
  const after = await cursorAt(subject, first?.revision ?? 0);
  for (const tag of ['b', 'c', 'b', 'b']) await writers[0]?.set(tag, 1);
  await faults.compact?.(subject);
  await using reader = new StreamReader(subject, { after });
  const events = (await reader.untilKind('live')).filter(({ kind }) => kind !== 'stale');
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['synced', 'gap', 'change', 'change', 'live'],
  );
  const gap = events[1];
  assert.ok(
    gap?.kind === 'gap' && gap.reason === 'compacted' && gap.fromRevision === first?.revision,
  );
  assert.deepEqual(
    statesOf(events).map(({ tag, version }) => [tag, version]),
    [
      ['c', 1],
      ['b', 3],
    ],
  );
}

async function replayAfterCompaction({ subject, faults }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 2 });
  for (const tag of ['a', 'b', 'a']) await writers[0]?.set(tag, 1);
  await writers[1]?.set('a', 1);
  await faults.compact?.(subject);
  await using reader = new StreamReader(subject);
  const seen = statesOf(await reader.untilKind('synced'));
  assert.deepEqual(
    seen.map(({ taskId, tag, version }) => [taskId, tag, version]),
    [
      [0, 'b', 1],
      [0, 'a', 2],
      [1, 'a', 1],
    ],
  );
  const { states } = await subject.store.listStates(JOB_ID, {}, { afterRevision: 0, limit: 9 });
  assert.deepEqual(states, seen);
}

/** The cursor of a subscriber that has everything up to this revision. */
async function cursorAt(subject: CaseContext['subject'], revision: number): Promise<Cursor> {
  await using reader = new StreamReader(subject);
  await reader.until((event) => event.kind === 'synced' && event.revision >= revision);
  return reader.cursor ?? assert.fail('no cursor');
}

function statesOf(events: readonly JobEvent[]): readonly State[] {
  return events.flatMap((event) => ('state' in event ? [event.state] : []));
}

function latestRevisions(states: readonly State[]): ReadonlyMap<string, number> {
  return new Map(states.map(({ taskId, tag, revision }) => [`${taskId} ${tag}`, revision]));
}
