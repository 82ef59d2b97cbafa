import { ManualTimers } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFeedRig, settle } from '../conformance/feed-rig.js';
import { checkTrace } from '../conformance/trace/check-trace.js';
import { CommittedLog } from '../conformance/trace/committed-log.js';
import { formatTrace, type TracePart } from '../conformance/trace/job-trace.js';
import type { JobChange } from '../conformance/trace/keys.js';
import {
  isInReplay,
  nextPhase,
  type SubscriptionPhase,
} from '../conformance/trace/subscription-phase.js';
import type { Scope } from '../job.js';
import type { Cursor, History, JobEvent, JobSubscription, Overflow } from '../job-store.js';

type Rig = ReturnType<typeof createFeedRig>;

interface ReaderKind {
  readonly scope: Scope;
  readonly overflow: Overflow;
  readonly include: readonly ('lease' | 'job')[];
  readonly reads: 'events' | 'batches';
}

/** One subscriber that may be cut anywhere and resumes at its cursor. */
class Reader {
  readonly kind: ReaderKind;
  readonly parts: (TracePart & { readonly events: JobEvent[] })[] = [];
  #subscription: JobSubscription;
  #iterator: AsyncIterator<readonly JobEvent[]>;
  #phase: SubscriptionPhase = 'replaying';
  #isPulling = false;
  hasEnded = false;
  readonly problems: string[] = [];

  constructor(rig: Rig, kind: ReaderKind) {
    this.kind = kind;
    [this.#subscription, this.#iterator] = this.#open(rig, undefined);
  }

  pull(): void {
    if (this.#isPulling || this.hasEnded) return;
    this.#isPulling = true;
    this.#iterator.next().then(
      ({ value, done }) => {
        this.#isPulling = false;
        this.hasEnded = done === true;
        for (const event of done ? [] : value) this.#see(event);
        if (!done) this.#checkCursor();
      },
      ({ code, details }) => {
        if (code !== 'overflow' || details.cursor !== this.#subscription.cursor)
          this.problems.push(`${code} ${details?.cursor} at ${this.#subscription.cursor}`);
        this.hasEnded = true;
        this.#isPulling = false;
      },
    );
  }

  async drain(): Promise<void> {
    do {
      this.pull();
      await settle();
    } while (!this.#isPulling && !this.hasEnded);
  }

  async reconnect(rig: Rig): Promise<void> {
    await this.#subscription[Symbol.asyncDispose]();
    await settle(); // a pull in flight may still deliver its event
    this.hasEnded = false;
    this.#isPulling = false;
    this.#phase = 'replaying';
    [this.#subscription, this.#iterator] = this.#open(rig, this.#subscription.cursor);
  }

  #see(event: JobEvent): void {
    this.parts.at(-1)?.events.push(event);
    const next = nextPhase(this.#phase, event);
    if (next === 'refused') this.problems.push(`J22: ${event.kind} in phase ${this.#phase}`);
    else this.#phase = next;
  }

  /** J22: the cursor says exactly whether the phase is a replay, once an event has said where one is. */
  #checkCursor(): void {
    const { cursor } = this.#subscription;
    const isPlaced = this.parts.at(-1)?.events.some(({ kind }) => kind !== 'stale');
    if (!isPlaced || this.#phase === 'ended') return;
    if (cursor?.endsWith('~') !== isInReplay(this.#phase))
      this.problems.push(`J22: cursor ${cursor} in phase ${this.#phase}`);
  }

  #open(rig: Rig, after: Cursor | undefined) {
    const { scope, overflow, include, reads } = this.kind;
    this.parts.push({ after, events: [] });
    const buffer = { maxEvents: 4 };
    const subscription = rig.subscribe({
      scope,
      overflow,
      include,
      buffer,
      ...(after && { after }),
    });
    const batches = reads === 'batches' ? subscription.batches(5) : oneByOne(subscription);
    return [subscription, batches[Symbol.asyncIterator]()] as const;
  }
}

async function* oneByOne(events: AsyncIterable<JobEvent>) {
  for await (const event of events) yield [event];
}

const readerIndex = fc.nat({ max: 3 });
const cell = fc.record({ taskId: fc.nat({ max: 2 }), tag: fc.constantFrom('a', 'b') });
const step = <Name extends string, Model extends object>(
  name: Name,
  model: { [K in keyof Model]: fc.Arbitrary<Model[K]> },
) => fc.record(model).map((record) => ({ ...(record as Model), do: name }));
const commands = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: step('state', { cell }) },
    { weight: 1, arbitrary: step('lease', { cell }) },
    { weight: 1, arbitrary: step('job', {}) },
    { weight: 3, arbitrary: step('publish', {}) },
    { weight: 2, arbitrary: step('burst', { count: fc.integer({ min: 2, max: 9 }) }) },
    { weight: 6, arbitrary: step('pull', { reader: readerIndex }) },
    { weight: 4, arbitrary: step('drain', { reader: readerIndex }) },
    { weight: 2, arbitrary: step('reconnect', { reader: readerIndex }) },
    { weight: 1, arbitrary: step('compact', { keep: fc.nat({ max: 4 }) }) },
    { weight: 1, arbitrary: step('expire', {}) },
    { weight: 1, arbitrary: step('reopen', {}) },
    { weight: 1, arbitrary: step('stale', {}) },
    { weight: 1, arbitrary: step('live', {}) },
    { weight: 1, arbitrary: step('delete', {}) },
    { weight: 3, arbitrary: step('settle', {}) },
  ),
  { maxLength: 80, size: 'max' },
);
const readerKinds = fc.array(
  fc.record({
    scope: fc.constantFrom<Scope>({}, { tag: 'a' }, { taskId: 1 }, { taskId: 0, tag: 'b' }),
    overflow: fc.constantFrom<Overflow>('block', 'coalesce', 'fail'),
    include: fc.subarray(['lease', 'job'] as const),
    reads: fc.constantFrom('events' as const, 'batches' as const),
  }),
  { minLength: 1, maxLength: 4 },
);
const feedKinds = fc
  .record({
    changesMax: fc.constantFrom(0, 3, 8, 100),
    history: fc.constantFrom<History>('all', 'all', 'latest'),
  })
  .map(({ changesMax, history }) => {
    const ring = { changesMax: history === 'all' ? changesMax : 0, bytesMax: 1e9 };
    return { history, ring };
  });

describe('the feed of a job under random schedules', () => {
  test('J5 J6 J7 J8 J9 J10 J16 J22 every stream keeps what the checkers ask for', async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(commands, readerKinds, feedKinds, async (list, kinds, feedKind) => {
        const timers = new ManualTimers();
        const options = { ...feedKind, clock: timers.clock };
        const log = new CommittedLog();
        let bornCount = 1;
        let rig = createFeedRig({ ...options, base: 'i1' });
        rig.publish(rig.source.job('i1'));
        const readers = kinds.map((kind) => new Reader(rig, kind));
        let published = 1;
        const publish = () => {
          rig.publish(...rig.source.log.slice(published));
          published = rig.source.revision();
        };
        for (const command of list) {
          const reader = 'reader' in command ? readers[command.reader % readers.length] : undefined;
          const { source, feed } = rig;
          if (command.do === 'state') source.state(command.cell.taskId, command.cell.tag);
          if (command.do === 'lease') source.lease(command.cell.taskId);
          if (command.do === 'job') source.job(`i${bornCount}`);
          if (command.do === 'burst')
            for (let i = 0; i < command.count; i += 1) source.state(i % 3, 'ab'[i % 2] ?? 'a');
          if (command.do === 'publish' || command.do === 'burst') publish();
          if (command.do === 'pull') reader?.pull();
          if (command.do === 'drain') await reader?.drain();
          if (command.do === 'reconnect') await reader?.reconnect(rig);
          if (command.do === 'compact') source.compact(command.keep);
          if (command.do === 'expire') timers.fireAll();
          if (command.do === 'reopen') source.reopen();
          if (command.do === 'stale') feed.markStale({ sinceMs: 1, attempt: 1 });
          if (command.do === 'live') feed.markLive();
          if (command.do === 'settle') await settle();
          if (command.do === 'delete') {
            publish();
            for (const change of source.log) remember(log, `i${bornCount}`, change);
            feed.endDeleted();
            bornCount += 1;
            rig = createFeedRig({ ...options, base: `i${bornCount}` });
            rig.publish(rig.source.job(`i${bornCount}`));
            published = 1;
          }
        }
        await settle();
        publish();
        rig.feed.markLive();
        for (const change of rig.source.log) remember(log, `i${bornCount}`, change);
        for (const reader of readers) {
          for (let tries = 0; tries < 100; tries += 1) {
            await reader.drain();
            if (!reader.hasEnded) break;
            await reader.reconnect(rig);
          }
          const { scope, include } = reader.kind;
          const trace = { scope, include, parts: reader.parts, isDrained: true, log };
          const whole = { ...trace, history: feedKind.history };
          for (const event of reader.parts.flatMap(({ events }) => events)) {
            reached.add(event.kind === 'gap' ? `gap ${event.reason}` : event.kind);
          }
          const problems = [...reader.problems, ...checkTrace(whole)];
          if (problems.length > 0) throw new Error(`${problems.join('\n')}\n${formatTrace(whole)}`);
        }
        rig.feed.close();
        await settle();
        expect([rig.quota.count, rig.source.openViewsCount, timers.pending]).toEqual([0, 0, 0]);
      }),
      { numRuns: 200 },
    );
    expect([...reached].sort()).toEqual(
      ['change', 'gap compacted', 'gap deleted', 'gap overflow', 'gap reset', 'job', 'lease']
        .concat(['live', 'snapshot', 'stale', 'synced'])
        .sort(),
    );
  });
});

function remember(log: CommittedLog, incarnation: string, change: JobChange) {
  if (change.kind === 'state') log.addState(incarnation, change.state);
  if (change.kind === 'lease') log.addLease(incarnation, change.lease);
  if (change.kind === 'job') log.addJob(change.job);
}
