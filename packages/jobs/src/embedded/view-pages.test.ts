import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { at, createStaffedJob, JOB_ID } from '../conformance/job-samples.js';
import { stateBytes } from '../core/state-bytes.js';
import { jobsLimits } from '../limits.js';
import type { Scope } from '../state.js';
import { openEmbeddedJobStore } from './open-embedded-job-store.js';

test.each<Scope>([{}, { taskId: 0 }])(
  'J17 a batch of a replay has few bytes, however large the states are: scope %o',
  async (scope) => {
    const [clock, random] = [createSystemClock(), createSystemRandom()];
    const ports = { clock, random, logger: silentLogger, metrics: silentMetrics };
    await using store = await openEmbeddedJobStore({ storage: createMemoryStorage(), ...ports });
    const writer = at((await createStaffedJob(store, { numTasks: 1 })).writers, 0);
    const payload = { text: 'x'.repeat(60_000) };
    const tags = Array.from({ length: 24 }, (_, index) => `tag-${index}`);
    for (const tag of tags) await writer.set(tag, 1, { payload });
    const seen: string[] = [];
    for await (const events of store.subscribe(JOB_ID, { scope }).batches()) {
      const states = events.flatMap((event) => ('state' in event ? [event.state] : []));
      const bytes = states.reduce((sum, state) => sum + stateBytes(state), 0);
      expect(bytes).toBeLessThanOrEqual(jobsLimits.frameBytesMax.value);
      seen.push(...states.map(({ tag }) => tag));
      if (events.some(({ kind }) => kind === 'synced')) break;
    }
    expect(seen).toEqual(tags);
  },
);
