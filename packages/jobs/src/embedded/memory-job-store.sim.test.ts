// What the memory store does beyond the suite that all stores run: its ring, its reports, its own limits.
import type { Clock, LogFields } from '@syncline/kernel';
import { SynclineError, silentLogger } from '@syncline/kernel';
import { createSeededRandom, runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import type { JobInfo } from '../job.js';
import { JobStatus } from '../job.js';
import type { JobEvent, JobStore, StateWrite } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { createMemoryJobStore } from './embedded-adapter.js';

const RING_MAX = jobsLimits.memoryStoreRevisionsMax.value;

function inWorld(body: (world: SimulatedBody) => Promise<void>): Promise<void> {
  return runInSimulation(1, body, { eventsMax: 1_000_000 });
}

async function claimed(store: JobStore, ttlMs = 0) {
  const { job } = await store.createJob({ jobId: 'nightly', numTasks: 2 });
  const who = { jobId: job.jobId, incarnation: job.incarnation, taskId: 0 };
  const asked = { action: 'claim', epoch: 0, ttlMs, holder: 'test' } as const;
  const { epoch } = await store.lease({ ...who, ...asked });
  return { job, epoch, write: writerOf(job, epoch) };
}

function writerOf({ jobId, incarnation }: JobInfo, epoch: number) {
  let events = 0;
  return (more: Partial<StateWrite> = {}): StateWrite => {
    events += 1;
    const content = { tag: 'a', status: 1, message: '', schemaVersion: 1, eventId: `e${events}` };
    return { jobId, incarnation, taskId: 0, epoch, ...content, ...more };
  };
}

/** Reads until an event of this kind has arrived. */
async function readTo(events: AsyncIterable<JobEvent>, kind: JobEvent['kind']) {
  const seen: JobEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (event.kind === kind) break;
  }
  return seen;
}

/** Ports that record what is reported. */
function recorded(clock: Clock) {
  const counts = new Map<string, number>();
  const lines: [string, LogFields | undefined][] = [];
  const count = (name: string, amount = 1, labels: Readonly<Record<string, string>> = {}) => {
    const key = [name.replace('syncline_jobs_', ''), ...Object.values(labels)].join(' ');
    counts.set(key, (counts.get(key) ?? 0) + amount);
  };
  const metrics = { add: count, set: () => undefined, observe: (name: string) => count(name) };
  const warn = (msg: string, fields?: LogFields) => void lines.push([msg, fields]);
  const logger = { ...silentLogger, warn };
  return { counts, lines, deps: { clock, metrics, logger, random: createSeededRandom(1) } };
}

describe('the memory store', () => {
  test('keeps the newest changes for subscribers that resume, and reports what it no longer has', () =>
    inWorld(async ({ clock }) => {
      await using store = createMemoryJobStore({ clock });
      const { write } = await claimed(store);
      await store.setState(write());
      const first = await readTo(store.subscribe('nightly', { scope: {} }), 'synced');
      const synced = first.at(-1);
      const after = synced && 'cursor' in synced ? synced.cursor : undefined;
      if (after === undefined) throw new Error('synced has a cursor');
      const fillRing = async () => {
        for (let written = 0; written < RING_MAX; written += 1_000)
          await Promise.all(Array.from({ length: 1_000 }, () => store.setState(write())));
      };
      await fillRing();
      const within = await readTo(store.subscribe('nightly', { scope: {}, after }), 'live');
      expect(within.filter(({ kind }) => kind === 'change')).toHaveLength(RING_MAX);
      expect(within.some(({ kind }) => kind === 'gap')).toBe(false);
      await fillRing();
      const beyond = await readTo(store.subscribe('nightly', { scope: {}, after }), 'live');
      expect(beyond.map(({ kind }) => kind)).toEqual(['synced', 'gap', 'change', 'live']);
      expect(beyond[1]).toMatchObject({ reason: 'compacted', fromRevision: 3 });
    }));

  test('J18 reports lost tasks and fenced writes', () =>
    inWorld(async ({ clock }) => {
      const { counts, lines, deps } = recorded(clock);
      await using store = createMemoryJobStore(deps);
      const { job, epoch, write } = await claimed(store, 1_000);
      await clock.sleep(2_000);
      expect((await store.listLost('nightly')).map(({ taskId, state }) => [taskId, state])).toEqual(
        [[0, 'lost']],
      );
      expect(lines).toEqual([
        ['🟡 a task lost its lease', { jobId: 'nightly', taskId: 0, epoch, revision: 3 }],
      ]);
      await expect(store.setState(write({ epoch: 9 }))).rejects.toMatchObject({ code: 'fenced' });
      await store.setState(write());
      expect(await store.listLost('nightly')).toEqual([]);
      await clock.sleep(2_000); // held again means watched again
      expect(await store.listLost('nightly')).toHaveLength(1);
      expect(Object.fromEntries(counts)).toMatchObject({
        leases_lost_total: 2,
        fenced_total: 1,
        'write_errors_total fenced': 1,
        write_duration_seconds: 2,
      });
      expect(job.revision).toBe(1);
    }));

  test('J18 a task that is done is not lost, until another tag is expected', () =>
    inWorld(async ({ clock }) => {
      await using store = createMemoryJobStore({ clock });
      const { write } = await claimed(store, 1_000);
      await store.setState(write({ status: JobStatus.finished }));
      await clock.sleep(60_000);
      expect(await store.listLost('nightly')).toEqual([]);
      await store.updateJob('nightly', { expectedTags: ['b'] });
      await clock.sleep(1_000);
      expect(await store.listLost('nightly')).toHaveLength(1);
    }));

  test('J20 a page holds at most a MiB, and at least one state', () =>
    inWorld(async ({ clock }) => {
      await using store = createMemoryJobStore({ clock });
      const { write } = await claimed(store);
      const payload = { text: 'x'.repeat(65_000) };
      for (let i = 0; i < 40; i += 1) await store.setState(write({ tag: `t${i}`, payload }));
      const tags: string[] = [];
      let pages = 0;
      for (let afterRevision = 0, more = true; more; pages += 1) {
        const page = await store.listStates('nightly', {}, { afterRevision, limit: 1_000 });
        expect(page.states.length).toBeLessThanOrEqual(16);
        tags.push(...page.states.map(({ tag }) => tag));
        ({ revision: afterRevision, more } = page);
      }
      expect(tags).toEqual(Array.from({ length: 40 }, (_, i) => `t${i}`));
      expect(pages).toBe(3);
    }));

  test('the caller may change its objects afterwards; what is read is what was written', () =>
    inWorld(async ({ clock }) => {
      await using store = createMemoryJobStore({ clock });
      const { write } = await claimed(store);
      const payload = { list: [1] };
      await store.setState(write({ payload }));
      payload.list.push(2);
      expect((await store.getState('nightly', 0, 'a'))?.payload).toEqual({ list: [1] });
    }));

  test('J20 a call that is already aborted, or comes after close, changes nothing', () =>
    inWorld(async ({ clock }) => {
      const store = createMemoryJobStore({ clock });
      const { write } = await claimed(store);
      const signal = AbortSignal.abort();
      await expect(store.setState(write(), { signal })).rejects.toMatchObject({ code: 'aborted' });
      expect((await store.getJob('nightly'))?.revision).toBe(2);
      await store.close();
      await store.close();
      await expect(store.setState(write())).rejects.toThrow(SynclineError);
      await expect(store.getJob('nightly')).rejects.toMatchObject({ code: 'closed' });
      const late = readTo(store.subscribe('nightly', { scope: {} }), 'synced');
      await expect(late).rejects.toMatchObject({ code: 'closed' });
    }));
});
