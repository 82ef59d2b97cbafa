// Random histories of one job, two tasks and two tags, decided by the core alone. A plain model beside it
// knows what every claim was and what every applied write was answered.
import { SynclineError } from '@syncline/kernel';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkWireWrite, type WriteFields } from '../checks/checked-write.js';
import type { LeaseRequest, State, TaskLease } from '../job.js';
import { jobsLimits } from '../limits.js';
import {
  decideCreate,
  decideLease,
  decideLost,
  decideMark,
  decideSetState,
  decideUpdate,
  type JobApplied,
  type LeaseApplied,
  type StateApplied,
} from './decisions.js';
import type { CellRow, HeadRow, JobRows, TaskRow } from './rows.js';

type Step = Readonly<{
  kind: 'claim' | 'renew' | 'release' | 'lost' | 'write' | 'retry' | 'update' | 'mark' | 'recreate';
  taskId: number;
  tag: string;
  status: number;
  /** How many claims ago: 0 is the newest. */
  age: number;
  clockMs: number;
}>;

interface Claim {
  readonly incarnation: string;
  readonly taskId: number;
  readonly epoch: number;
}

type Decided = { readonly head: HeadRow } & Partial<JobApplied & LeaseApplied & StateApplied>;

interface Change {
  readonly revision: number;
  readonly timestampMs: number;
  readonly lease?: TaskLease;
}

function changesOf({ head: { timestampMs }, info, lease, state }: Decided): readonly Change[] {
  const changes: Change[] = [];
  if (info) changes.push({ revision: info.revision, timestampMs: info.changedAtMs });
  if (lease) changes.push({ revision: lease.revision, timestampMs, lease });
  if (state) changes.push(state);
  return changes;
}

class Rig {
  readonly log: Change[] = [];
  readonly claims: Claim[] = [];
  readonly answered = new Map<string, { readonly write: WriteFields; readonly state: State }>();
  rows: JobRows;
  tasks = new Map<number, TaskRow>();
  cells = new Map<string, CellRow>();
  #incarnations = 1;
  #events = 0;

  constructor() {
    const birth = born('i1', 1_000);
    this.rows = birth;
    this.log.push(...changesOf(birth));
  }

  recreate(nowMs: number): void {
    this.#incarnations += 1;
    this.log.length = 0;
    this.answered.clear();
    this.tasks = new Map();
    this.cells = new Map();
    const birth = born(`i${this.#incarnations}`, nowMs);
    this.#keep(birth);
  }

  run(step: Step): void {
    const { kind, taskId, clockMs } = step;
    const claim = this.claims.filter((each) => each.taskId === taskId).at(-1 - step.age);
    switch (kind) {
      case 'claim':
      case 'renew':
      case 'release':
        this.#lease(kind, taskId, claim, clockMs);
        return;
      case 'lost': {
        const rows = { ...this.rows, task: this.tasks.get(taskId) };
        const decision = decideLost(rows, claim?.epoch ?? 0, clockMs);
        if (decision) this.#keep(decision);
        return;
      }
      case 'write':
        this.#events += 1;
        this.#write(this.#writeOf(step, claim, `e${this.#events}`), clockMs);
        return;
      case 'retry': {
        const earlier = [...this.answered.values()].at(-1 - step.age);
        if (earlier) this.#write(earlier.write, clockMs);
        return;
      }
      case 'update':
      case 'mark': {
        const request = { jobId: 'j', patch: { labels: { at: String(clockMs) } } };
        const decision = unlessRefused(() =>
          kind === 'mark'
            ? decideMark(this.rows, { jobId: 'j' }, clockMs)
            : decideUpdate({ ...this.rows, tags: new Set() }, request, clockMs),
        );
        if (decision?.kind === 'apply') this.#keep(decision);
        return;
      }
      case 'recreate':
        this.recreate(clockMs);
        return;
    }
  }

  #lease(
    action: LeaseRequest['action'],
    taskId: number,
    claim: Claim | undefined,
    clockMs: number,
  ): void {
    const known = claim ?? { incarnation: 'none', epoch: 0 };
    const incarnation = action === 'claim' ? this.rows.job.incarnation : known.incarnation;
    const rest = { jobId: 'j', taskId, ttlMs: 1_000, holder: '' };
    const task = this.tasks.get(taskId);
    const request = { ...rest, action, incarnation, epoch: known.epoch };
    const decision = unlessRefused(() => decideLease({ ...this.rows, task }, request, clockMs));
    if (!decision) return;
    if (action !== 'claim') this.#expectNewest(request);
    else this.#expectNewEpoch(decision.lease);
    if (decision.kind === 'apply') this.#keep(decision);
  }

  #expectNewEpoch({ taskId, epoch }: TaskLease): void {
    const { incarnation } = this.rows.job;
    const claim = { incarnation, taskId, epoch };
    expect(this.claims).not.toContainEqual(claim);
    this.claims.push(claim);
  }

  /** J13: whatever passes was sent by the newest claim of this incarnation. */
  #expectNewest({ taskId, incarnation, epoch }: Claim): void {
    const newest = this.claims.filter((each) => each.taskId === taskId).at(-1);
    expect({ taskId, incarnation, epoch }).toEqual(newest);
    expect(incarnation).toBe(this.rows.job.incarnation);
  }

  #writeOf({ taskId, tag, status }: Step, claim: Claim | undefined, eventId: string): WriteFields {
    const { incarnation = 'none', epoch = 0 } = claim ?? {};
    const content = { tag, status, message: '', schemaVersion: 1, eventId };
    return { jobId: 'j', incarnation, taskId, epoch, ...content };
  }

  #write(write: WriteFields, clockMs: number): void {
    const { taskId, tag, eventId } = write;
    const key = `${taskId} ${tag}`;
    const cell = this.cells.get(key);
    const rows = { ...this.rows, task: this.tasks.get(taskId), cell, tags: new Set([tag]) };
    const checked = checkWireWrite(write);
    const decision = unlessRefused(() => decideSetState(rows, checked, clockMs));
    const first = this.answered.get(eventId);
    const isRemembered = first && this.#versionOf(key) - first.state.version < RECENT_MAX;
    if (isRemembered) expect(decision).toEqual({ kind: 'duplicate', state: first.state }); // J2
    if (decision?.kind !== 'apply') return;
    this.#expectNewest(write);
    expect(decision.state.version).toBe(this.#versionOf(key) + 1); // J1
    this.cells.set(key, decision.cell);
    this.answered.set(eventId, { write, state: decision.state });
    this.#keep(decision);
  }

  #versionOf(key: string): number {
    return this.cells.get(key)?.version ?? 0;
  }

  #keep(decided: Decided): void {
    const { head, job, task } = decided;
    this.rows = { job: job ?? this.rows.job, head };
    if (task) this.tasks.set(task.taskId, task);
    this.log.push(...changesOf(decided));
  }

  check(): void {
    const last = this.log.at(-1);
    expect(this.log.map(({ revision }) => revision)).toEqual(this.log.map((_, i) => i + 1)); // J1
    const times = this.log.map(({ timestampMs }) => timestampMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b)); // J19
    expect(this.rows.head).toMatchObject({ revision: last?.revision, timestampMs: times.at(-1) });
    expect(this.rows.job.numTasks).toBe(2); // J15
  }
}

function unlessRefused<D>(decide: () => D): D | undefined {
  try {
    return decide();
  } catch (thrown) {
    if (thrown instanceof SynclineError) return undefined;
    throw thrown;
  }
}

function born(incarnation: string, nowMs: number): JobApplied {
  const spec = { jobId: 'j', numTasks: 2, expectedTags: [], labels: {} };
  const decision = decideCreate(undefined, spec, { incarnation, jobsCount: 0, nowMs });
  if (decision.kind !== 'apply') throw new Error('a new job is created');
  return decision;
}

const RECENT_MAX = jobsLimits.recentEventIdsMax.value;

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    {
      weight: 12,
      arbitrary: fc.constantFrom('claim' as const, 'renew', 'release', 'lost', 'lost'),
    },
    { weight: 16, arbitrary: fc.constant('write' as const) },
    { weight: 8, arbitrary: fc.constant('retry' as const) },
    { weight: 2, arbitrary: fc.constant('update' as const) },
    { weight: 1, arbitrary: fc.constantFrom('mark' as const, 'recreate', 'recreate') },
  ),
  taskId: fc.nat({ max: 1 }),
  tag: fc.constantFrom('a', 'b'),
  status: fc.constantFrom(0, 1, -1, 2_147_483_647),
  age: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 10 })),
  clockMs: fc.nat({ max: 2_000 }), // it steps back and forth
});

describe('the core under random histories', () => {
  test('J1 J2 J13 J15 J19 versions, event ids, epochs and timestamps hold', () => {
    const reached = { claims: 0, retries: 0, lost: 0, heldAgain: 0, writes: 0 };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        const rig = new Rig();
        for (const each of steps) {
          rig.run(each);
          rig.check();
        }
        reached.claims += rig.claims.length;
        reached.retries += steps.filter(({ kind }) => kind === 'retry').length;
        reached.writes += rig.answered.size;
        const leases = rig.log.flatMap(({ lease }) => lease ?? []);
        reached.lost += leases.filter(({ state }) => state === 'lost').length;
        reached.heldAgain += leases.filter((lease, i) => wasLost(leases.slice(0, i), lease)).length;
      }),
      { numRuns: 100 },
    );
    for (const [what, count] of Object.entries(reached)) expect(count, what).toBeGreaterThan(9);
  });
});

function wasLost(earlier: readonly TaskLease[], { taskId, epoch, state }: TaskLease): boolean {
  const before = earlier.findLast((each) => each.taskId === taskId);
  return state === 'held' && before?.state === 'lost' && before.epoch === epoch;
}
