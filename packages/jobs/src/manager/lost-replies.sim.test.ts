import { type Clock, type Random, randomBelow, SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { overrideStore } from '../conformance/override-store.js';
import { createMemoryJobStore } from '../embedded/embedded-adapter.js';
import type { State } from '../job.js';
import type { JobStore, SetStateResult, StateWrite } from '../job-store.js';
import { createJobManager } from './create-job-manager.js';

const SEEDS = 20;
/** A store remembers the last 8 event ids of a key; a copy that arrives later than that is a new write. */
const WRITES_PER_TAG = 8;
const TAGS = ['ingest', 'export'];

/** A network between a manager and its store that loses, duplicates and delays, whatever the signal does. */
function behindNetwork(store: JobStore, clock: Clock, random: Random): JobStore {
  const happens = (percent: number) => randomBelow(random, 100) < percent;
  const delayMs = () => (happens(20) ? randomBelow(random, 12_000) : randomBelow(random, 50));
  const never = () => new Promise<never>(() => {});
  const broken = () =>
    Promise.reject(new SynclineError('unavailable', 'connection lost', { outcome: 'unknown' }));
  const lose = () => (happens(50) ? never() : broken());

  async function setState(write: StateWrite): Promise<SetStateResult> {
    if (happens(15)) return lose();
    const arrive = async () => {
      await clock.sleep(delayMs());
      return store.setState(write);
    };
    const answer = arrive();
    if (happens(20)) void arrive().catch(() => {}); // the reply to the second copy is lost
    const result = await answer;
    if (happens(15)) return lose();
    await clock.sleep(delayMs());
    return result;
  }
  return overrideStore(store, { setState });
}

interface Call {
  readonly tag: string;
  readonly status: number;
  readonly result: State | SynclineError;
}

async function callAll(store: JobStore, deps: { clock: Clock; random: Random }): Promise<Call[]> {
  const target = { store: behindNetwork(store, deps.clock, deps.random), jobId: 'job' };
  await using job = await createJobManager({ ...target, taskIndex: 0, numTasks: 1 }, {}, deps);
  const calls = TAGS.flatMap((tag) =>
    Array.from({ length: WRITES_PER_TAG }, async (_, index) => {
      const status = 10 + index;
      const result = await job.setState({ tag, status }).then(
        ({ state }) => state,
        (error: unknown) => SynclineError.from(error),
      );
      return { tag, status, result };
    }),
  );
  return await Promise.all(calls); // before the manager is closed
}

async function changesOf(store: JobStore, clock: Clock): Promise<readonly State[]> {
  const states: State[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const event of store.subscribe('job', { scope: {}, signal: stop.signal })) {
      if (event.kind === 'change') states.push(event.state);
    }
  })();
  await clock.sleep(600_000); // until every late copy has arrived
  stop.abort();
  await reading;
  return states;
}

test('J2 whatever is lost, duplicated or late: one version per event id, in the order of the calls', async () => {
  for (let seed = 0; seed < SEEDS; seed += 1) {
    await runInSimulation(seed, async ({ clock, random }) => {
      const store = createMemoryJobStore({ clock, random });
      await store.createJob({ jobId: 'job', numTasks: 1 });
      const [changes, calls] = await Promise.all([
        changesOf(store, clock),
        callAll(store, { clock, random }),
      ]);
      const eventIds = changes.map(({ eventId }) => eventId);
      expect(new Set(eventIds).size).toBe(eventIds.length);
      const writes = changes.map(({ tag, status }) => `${tag} ${status}`); // one per call
      expect(new Set(writes).size).toBe(writes.length);
      expect(eventIds.every((eventId) => /^[0-9a-f]{32}$/.test(eventId))).toBe(true);
      for (const tag of TAGS) {
        const own = calls.filter((call) => call.tag === tag);
        const acknowledged = own.flatMap(({ result }) =>
          result instanceof SynclineError ? [] : [result],
        );
        const versions = acknowledged.map(({ version }) => version);
        expect(versions).toEqual([...versions].sort((a, b) => a - b));
        expect(acknowledged.length).toBeGreaterThan(0);
        for (const state of acknowledged) expect(changes).toContainEqual(state);
        const failures = own.flatMap(({ result }) =>
          result instanceof SynclineError ? [result] : [],
        );
        for (const { message } of failures) expect(message.slice(0, 3)).toBe('🔴 ');
        const unsent = own.filter(
          ({ result }) => result instanceof SynclineError && result.outcome === 'not-applied',
        );
        for (const { status } of unsent) expect(writes).not.toContain(`${tag} ${status}`);
      }
    });
  }
});
