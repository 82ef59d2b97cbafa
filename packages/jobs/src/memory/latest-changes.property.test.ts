import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JobChange } from '../core/rows.js';
import { defaultState } from '../state.js';
import { LatestChanges } from './latest-changes.js';

/** Names that would fall together if keys were joined carelessly. */
const KEYS: readonly ((revision: number) => JobChange)[] = [
  state(1, 'a'),
  state(1, '1 a'),
  state(11, 'a'),
  lease(1),
  lease(11),
  job(),
];

describe('the latest changes', () => {
  test('J1 equal the naive fold from any revision on, now and as they were when a view was taken', () => {
    const puts = fc.array(fc.nat({ max: KEYS.length - 1 }), { maxLength: 400, size: 'max' });
    fc.assert(
      fc.property(puts, fc.nat({ max: 400 }), fc.nat({ max: 50 }), (keys, viewedAt, age) => {
        const latest = new LatestChanges<JobChange>();
        let view = latest.view();
        const changes = keys.flatMap((key, index) => KEYS[key]?.(index + 1) ?? []);
        for (const change of changes) {
          latest.put(nameOf(change), change);
          if (change.revision === viewedAt) view = latest.view();
        }
        const now = changes.length;
        expect([...latest.view().above(now - age)]).toEqual(naive(changes, now - age, now));
        const then = viewedAt <= now ? viewedAt : 0;
        expect([...view.above(then - age)]).toEqual(naive(changes, then - age, then));
      }),
    );
  });
});

/** The latest of each key up to `to`, of those above `after`, ascending. */
function naive(changes: readonly JobChange[], after: number, to: number): readonly JobChange[] {
  const latest = new Map<string, JobChange>();
  for (const change of changes.slice(0, to)) {
    latest.delete(nameOf(change)); // so that it moves to the end
    latest.set(nameOf(change), change);
  }
  return [...latest.values()].filter(({ revision }) => revision > after);
}

function nameOf(change: JobChange): string {
  switch (change.kind) {
    case 'state':
      return JSON.stringify([change.state.taskId, change.state.tag]);
    case 'lease':
      return JSON.stringify([change.lease.taskId]);
    case 'job':
      return JSON.stringify([]);
  }
}

function state(taskId: number, tag: string): (revision: number) => JobChange {
  return (revision) => ({
    kind: 'state',
    revision,
    timestampMs: 0,
    state: { ...defaultState('j', taskId, tag), revision },
  });
}

function lease(taskId: number): (revision: number) => JobChange {
  const row = { taskId, epoch: 1, state: 'held', ttlMs: 0, holder: '', expiresAtMs: 0 } as const;
  return (revision) => ({ kind: 'lease', revision, timestampMs: 0, lease: { ...row, revision } });
}

function job(): (revision: number) => JobChange {
  const row = { jobId: 'j', incarnation: 'i', numTasks: 1, expectedTags: [], labels: {} };
  const times = { createdAtMs: 0, changedAtMs: 0 };
  return (revision) => ({
    kind: 'job',
    revision,
    timestampMs: 0,
    job: { ...row, ...times, revision },
  });
}
