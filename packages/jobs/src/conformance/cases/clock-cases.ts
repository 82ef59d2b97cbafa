// A wall clock that jumps: states keep their order in time.
//
// J19  timestampMs never decreases as the revision increases.
import assert from 'node:assert/strict';
import { at, createStaffedJob } from '../job-samples.js';
import type { CaseContext, Cases } from '../job-store-subject.js';

/** For stores whose clock can be set. */
export const clockCases: Cases = {
  'J19 timestamps never fall, although the clock steps back and forth': stepping,
};

async function stepping({ subject, faults }: CaseContext): Promise<void> {
  const { writers } = await createStaffedJob(subject.store, { numTasks: 1 });
  const times: number[] = [];
  for (const ms of [0, -60_000, 5, 30_000, 120_000, -300_000, 1, 400_000]) {
    await faults.stepClock?.(subject, ms);
    times.push((await at(writers, 0).set('a', 1)).timestampMs);
  }
  assert.deepEqual(
    times,
    times.toSorted((left, right) => left - right),
  );
  assert.ok(
    at(times, -1) > at(times, 0) + 100_000,
    `the clock is not followed: ${times.join(', ')}`,
  );
}
