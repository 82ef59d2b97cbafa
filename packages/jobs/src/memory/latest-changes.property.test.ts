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
  test('J1 equal the naive fold from any revision on, swept or not', () => {
    const puts = fc.array(fc.nat({ max: KEYS.length - 1 }), { maxLength: 400, size: 'max' });
    fc.assert(
      fc.property(puts, fc.nat({ max: 400 }), (keys, after) => {
        const latest = new LatestChanges();
        const naive = new Map<number, JobChange>();
        for (const [index, key] of keys.entries()) {
          const change = KEYS[key]?.(index + 1);
          if (!change) continue;
          latest.put(change);
          naive.delete(key); // so that it moves to the end
          naive.set(key, change);
        }
        const wanted = [...naive.values()].filter(({ revision }) => revision > after);
        expect([...latest.above(after)]).toEqual(wanted);
      }),
    );
  });
});

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
