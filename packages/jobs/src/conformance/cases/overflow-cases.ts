// Slow subscribers: they never delay writers, and they are informed of what they missed in the way they requested.
//
// J7  Every committed revision in scope is delivered, or a `gap` covers it; the last state of every key is delivered.
//     J17 Writers never wait for subscribers.
import assert from 'node:assert/strict';
import type { JobEvent, Overflow } from '../../job-store.js';
import { jobsLimits } from '../../limits.js';
import { at, createStaffedJob, JOB_ID, type TaskWriter } from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';
import { isRefused } from '../refused.js';
import { StreamReader } from '../stream-reader.js';

/**
 * Far above the smallest buffer. In real time a store may be behind a connection, which also buffers a lot: 16 frames
 * of 256 KiB in a gRPC client, and three more outside it. A store that keeps only the latest state has no such
 * connection.
 */
const writesOf = ({ capabilities, time }: CaseContext) => {
  if (capabilities.history === 'latest') return 24;
  return time === 'real' ? 1_600 : 400;
};
const MESSAGE = 'x'.repeat(4_000);

export const overflowCases: Cases = {
  'J7 J17 a slow reader that blocks gets every revision': blocks,
  'J7 J17 a slow reader that coalesces gets a gap and the last state of every key': coalesces,
  'J17 a slow reader under fail gets what was buffered, then the error with its cursor': fails,
};

async function blocks(context: CaseContext): Promise<void> {
  const { subject, capabilities } = context;
  const { reader, writer } = await stalledReader(subject, 'block');
  const revisions = await writeMany(context, writer);
  const seen = revisionsOf(await reader.untilRevision(at(revisions, -1)));
  if (capabilities.history === 'all') assert.deepEqual(seen, revisions);
  else assert.equal(seen.at(-1), revisions.at(-1));
  await reader[Symbol.asyncDispose]();
}

async function coalesces(context: CaseContext): Promise<void> {
  const count = writesOf(context);
  const { reader, writer } = await stalledReader(context.subject, 'coalesce');
  const revisions = await writeMany(context, writer);
  const events = await reader.untilRevision(at(revisions, -1));
  const seen = revisionsOf(events);
  assert.ok(seen.length < count, `all ${seen.length} arrived`);
  assert.deepEqual(
    seen,
    [...new Set(seen)].sort((left, right) => left - right),
  );
  const gap = events.find(({ kind }) => kind === 'gap');
  assert.ok(gap?.kind === 'gap' && gap.reason === 'overflow', JSON.stringify(gap));
  const last = new Map(
    events.flatMap((event) => ('state' in event ? [[event.state.tag, event.state.version]] : [])),
  );
  assert.deepEqual([last.get('a'), last.get('b')], [count / 2, count / 2]);
  await reader[Symbol.asyncDispose]();
}

async function fails(context: CaseContext): Promise<void> {
  const { subject, capabilities } = context;
  const { reader, writer } = await stalledReader(subject, 'fail');
  const revisions = await writeMany(context, writer);
  const isLast = (event: JobEvent) => revisionsOf([event])[0] === revisions.at(-1);
  const error = await isRefused(() => reader.until(isLast), 'overflow');
  const cursor = error.details['cursor'];
  assert.equal(cursor, reader.cursor);
  const seen = revisionsOf(reader.seen);
  if (capabilities.history === 'all') assert.deepEqual(seen, revisions.slice(0, seen.length));
  await using rest = new StreamReader(subject, { after: reader.cursor ?? assert.fail() });
  await rest.untilRevision(at(revisions, -1));
  assert.ok(!revisionsOf(rest.seen).some((revision) => seen.includes(revision)));
}

/** Live, with the smallest buffer, and no longer read. */
async function stalledReader(subject: CaseContext['subject'], overflow: Overflow) {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  const writer = at(writers, 0);
  const { bufferEventsMin, bufferBytesMin } = jobsLimits;
  const buffer = { maxEvents: bufferEventsMin.value, maxBytes: bufferBytesMin.value };
  const reader = new StreamReader(subject, { overflow, buffer });
  await reader.untilKind('synced');
  const first = reader.untilKind('change');
  await subject.clock.sleep(1);
  await writer.set('first', 1);
  await first;
  reader.seen.length = 0;
  return { reader, writer };
}

/**
 * All at once. A store that keeps only the latest state may merge changes before it shows them, so there each one is
 * shown before the next is written: the buffer overflows even if the machine is busy.
 */
async function writeMany(context: CaseContext, writer: TaskWriter): Promise<readonly number[]> {
  const { subject, capabilities } = context;
  const write = (index: number) =>
    writer.set(index % 2 === 0 ? 'a' : 'b', index, { message: MESSAGE });
  const indexes = Array.from({ length: writesOf(context) }, (_, index) => index);
  const revisions: number[] = [];
  if (capabilities.history === 'all') {
    for (const { revision } of await Promise.all(indexes.map(write))) revisions.push(revision);
    return revisions.sort((left, right) => left - right);
  }
  for (const index of indexes) {
    revisions.push((await write(index)).revision);
    await subject.store.aggregate(JOB_ID, {});
  }
  return revisions;
}

function revisionsOf(events: readonly JobEvent[]): readonly number[] {
  return events.flatMap((event) => ('state' in event ? [event.state.revision] : []));
}
