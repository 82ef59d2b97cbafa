// The incremental aggregates against the naive fold, after every step of a random history.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldStates } from '../conformance/naive-fold.js';
import { defaultState, type Scope, type State, statusClass } from '../job.js';
import type { Cell } from './cell-counts.js';
import { progressOf } from './cell-counts.js';
import { JobCells } from './job-cells.js';

const STATUSES = [0, 1, 20, 2_147_483_647, -1, -2, -3, -2_147_483_648];
// Above U+FFFF the order of bytes is not the order of code units.
const TAGS = ['a', 'b', '\u{ff5e}', '\u{1f7e2}'];

type Step =
  | {
      readonly kind: 'write';
      readonly task: number;
      readonly tag: string;
      readonly status: number;
      readonly progress: number;
    }
  | { readonly kind: 'expect'; readonly tags: readonly string[] }
  | { readonly kind: 'lost'; readonly task: number; readonly isLost: boolean };

class Rig {
  readonly states = new Map<string, State>();
  readonly lost = new Set<number>();
  expectedTags: readonly string[] = [];
  revision = 0;
  readonly aggregates: JobCells;
  readonly numTasks: number;

  constructor(numTasks: number) {
    this.numTasks = numTasks;
    this.aggregates = new JobCells({ numTasks, expectedTags: [] });
  }

  run(step: Step): void {
    this.revision += 1;
    switch (step.kind) {
      case 'write':
        this.write(step.task % this.numTasks, step.tag, step.status, step.progress);
        break;
      case 'expect':
        this.expectedTags = step.tags;
        this.aggregates.setExpectedTags(step.tags);
        break;
      case 'lost': {
        const task = step.task % this.numTasks;
        if (step.isLost) this.lost.add(task);
        else this.lost.delete(task);
        this.aggregates.setLost(task, step.isLost);
        break;
      }
    }
  }

  write(taskId: number, tag: string, status: number, progress = 0): void {
    this.revision += 1; // 0 is never a revision
    const { revision } = this;
    const written = { status, statusClass: statusClass(status), revision, progress };
    const payload = status === 20 && { payload: { at: this.revision } };
    this.states.set(`${taskId} ${tag}`, {
      ...defaultState('job', taskId, tag),
      ...written,
      ...payload,
    });
    this.aggregates.set({ taskId, tag, revision }, status, progress);
  }

  check(scope: Scope): void {
    const { numTasks, expectedTags, revision, states, lost } = this;
    const job = { jobId: 'job', numTasks, expectedTags, revision };
    const naive = foldStates({ job, states: states.values(), lostTaskIds: lost }, scope);
    const stateOf = ({ taskId, tag }: Cell) =>
      states.get(`${taskId} ${tag}`) ?? defaultState('job', taskId, tag);
    const all = this.aggregates.recount().all(job);
    const progress = progressOf(revision, this.aggregates.summary(scope), stateOf);
    // `toEqual` is slow, and this runs many ten thousand times; it makes the better message, though.
    if (JSON.stringify(progress) !== JSON.stringify(naive)) expect(progress).toEqual(naive);
    const { total, ...classes } = naive.cells;
    const sum = Object.values(classes).reduce((soFar, count) => soFar + count, 0);
    if (sum !== total) expect(sum).toBe(total);
    if (scope.taskId === undefined && scope.tag === undefined) {
      const counts = all.toCounts();
      if (JSON.stringify(counts) !== JSON.stringify(naive.cells))
        expect(counts).toEqual(naive.cells);
    } else if (scope.taskId !== undefined && scope.tag === undefined) {
      const { finished, failed } = naive.cells;
      expect(this.aggregates.hasUnfinished(scope.taskId)).toBe(finished + failed < total);
    }
  }

  checkAll(tasks: Iterable<number>): void {
    this.check({});
    for (const tag of [...TAGS, 'never']) this.check({ tag });
    for (const taskId of tasks) {
      this.check({ taskId });
      for (const tag of TAGS) this.check({ taskId, tag });
    }
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      task: fc.nat(700),
      tag: fc.constantFrom(...TAGS),
      status: fc.constantFrom(...STATUSES),
      progress: fc.constantFrom(0, 0.1, 0.333, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('expect' as const),
      tags: fc.subarray(TAGS),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('lost' as const),
      task: fc.nat(700),
      isLost: fc.boolean(),
    }),
  },
);

describe('JobCells', () => {
  test('J12 a few tasks: every scope equals the naive fold after every step', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 30 }), (n, steps) => {
        const rig = new Rig(n);
        rig.checkAll(Array.from({ length: n }, (_, i) => i));
        for (const each of steps) {
          rig.run(each);
          rig.checkAll(Array.from({ length: n }, (_, i) => i));
        }
      }),
    );
  });

  test('J12 several blocks of tasks: equal at the end', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
        const rig = new Rig(700);
        for (const each of steps) rig.run(each);
        rig.checkAll([0, 255, 256, 699]);
      }),
      { numRuns: 30 },
    );
  });

  const statuses = [0, 1, 2_147_483_647, -1, -2, -3];
  const sixths = statuses.map((status, index) => ({ status, from: index * 6 ** 5 }));
  test.each(sixths)('J12 3 tasks × 2 tags × 6 statuses, all that end in $status', ({ from }) => {
    const rig = new Rig(3);
    const written: number[] = [];
    for (let code = from; code < from + 6 ** 5; code += 1) {
      let rest = code;
      for (let cell = 0; cell < 6; cell += 1) {
        const status = statuses[rest % 6] ?? 0;
        if (written[cell] !== status) rig.write(cell % 3, cell < 3 ? 'a' : 'b', status);
        written[cell] = status;
        rest = Math.floor(rest / 6);
      }
      rig.check({});
      // A narrower scope is asked once per assignment of its own cells.
      if (code < 6 ** 3) rig.check({ tag: 'a' });
      if (code % 6 === 0 && Math.floor(code / 36) % 36 === 0) rig.check({ taskId: 1 });
    }
  });
});
