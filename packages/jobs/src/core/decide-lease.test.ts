import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import type { LeaseRequest, LeaseState } from '../job.js';
import { decideLease, decideLost, type LeaseRows } from './decisions.js';
import type { TaskRow } from './rows.js';

const NOW_MS = 5_000;

const task: TaskRow = {
  taskId: 1,
  epoch: 4,
  state: 'held',
  ttlMs: 30_000,
  holder: 'host-1',
  revision: 7,
};

const rows: LeaseRows = {
  job: {
    jobId: 'nightly',
    incarnation: 'i1',
    numTasks: 2,
    expectedTags: [],
    labels: {},
    createdAtMs: 1,
    metadataRevision: 1,
  },
  head: { revision: 9, timestampMs: 4_000, statesCount: 3 },
  task,
};

const request: LeaseRequest = {
  jobId: 'nightly',
  incarnation: 'i1',
  taskId: 1,
  action: 'renew',
  epoch: 4,
  ttlMs: 30_000,
  holder: 'host-1',
};

/** In words: what is refused, or the state and epoch that the lease has then, with a new revision or without. */
function outcome(given: LeaseRows | undefined, asked: Partial<LeaseRequest>): string {
  try {
    const { kind, lease } = decideLease(given, { ...request, ...asked }, NOW_MS);
    return `${kind} ${lease.state} ${lease.epoch} at ${lease.revision}`;
  } catch (thrown) {
    return SynclineError.from(thrown).code;
  }
}

function inState(state: LeaseState | 'none'): LeaseRows {
  return { ...rows, task: state === 'none' ? undefined : { ...task, state } };
}

describe('leases', () => {
  test('every state and action, with the current epoch', () => {
    const table: Record<LeaseState | 'none', Record<LeaseRequest['action'], string>> = {
      none: { claim: 'apply held 1 at 10', renew: 'fenced', release: 'fenced' },
      held: {
        claim: 'apply held 5 at 10',
        renew: 'unchanged held 4 at 7',
        release: 'apply released 4 at 10',
      },
      lost: {
        claim: 'apply held 5 at 10',
        renew: 'apply held 4 at 10',
        release: 'apply released 4 at 10',
      },
      released: {
        claim: 'apply held 5 at 10',
        renew: 'unchanged released 4 at 7',
        release: 'unchanged released 4 at 7',
      },
    };
    for (const state of ['none', 'held', 'lost', 'released'] as const) {
      const actual = Object.fromEntries(
        (['claim', 'renew', 'release'] as const).map((action) => [
          action,
          outcome(inState(state), { action }),
        ]),
      );
      expect(actual, state).toEqual(table[state]);
    }
  });

  test('J13 another epoch or incarnation is fenced; a claim checks only the incarnation', () => {
    for (const action of ['renew', 'release'] as const) {
      expect(outcome(rows, { action, epoch: 3 })).toBe('fenced');
      expect(outcome(rows, { action, epoch: 5 })).toBe('fenced');
    }
    for (const action of ['claim', 'renew', 'release'] as const) {
      expect(outcome(rows, { action, incarnation: 'i0' })).toBe('fenced');
      // A caller from an earlier incarnation is refused as such, however many tasks that one had.
      expect(outcome(rows, { action, incarnation: 'i0', taskId: 2 })).toBe('fenced');
      expect(outcome(undefined, { action })).toBe('not-found');
    }
    expect(outcome(rows, { action: 'claim', epoch: 0 })).toBe('apply held 5 at 10');
    expect(outcome(rows, { action: 'claim', taskId: 2 })).toBe('invalid-argument');
  });

  test('a job marked deleted gives out no claim, but lets its managers close', () => {
    const marked = { ...rows, job: { ...rows.job, deletedAtMs: 1 } };
    expect(outcome(marked, { action: 'claim' })).toBe('conflict');
    expect(outcome(marked, { action: 'renew' })).toBe('unchanged held 4 at 7');
    expect(outcome(marked, { action: 'release' })).toBe('apply released 4 at 10');
  });

  test('says when it expires, and 0 when it does not', () => {
    const expiry = (given: LeaseRows, asked: Partial<LeaseRequest>) =>
      decideLease(given, { ...request, ...asked }, NOW_MS).lease.expiresAtMs;
    expect(expiry(rows, {})).toBe(NOW_MS + 30_000);
    expect(expiry(rows, { action: 'claim', ttlMs: 0 })).toBe(0);
    expect(expiry(rows, { action: 'release' })).toBe(0);
    // A renewal keeps the ttl of the claim: it is not stored, so it cannot change anything that is.
    expect(expiry(rows, { ttlMs: 1_000 })).toBe(NOW_MS + 30_000);
  });

  test('is lost only if it is still held under the same epoch', () => {
    expect(decideLost(rows, 4, NOW_MS)?.lease).toMatchObject({ state: 'lost', revision: 10 });
    expect(decideLost(rows, 3, NOW_MS)).toBeUndefined();
    expect(decideLost(inState('lost'), 4, NOW_MS)).toBeUndefined();
    expect(decideLost(inState('released'), 4, NOW_MS)).toBeUndefined();
    expect(decideLost(inState('none'), 4, NOW_MS)).toBeUndefined();
    expect(decideLost(undefined, 4, NOW_MS)).toBeUndefined();
  });
});
