import { SynclineError } from '@syncline/kernel';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import { overrideEvents, overrideStore } from '../conformance/override-store.js';
import type { Progress } from '../job.js';
import type { JobEvent } from '../job-store.js';
import { checkReconnect, storeUnreachable } from '../reconnect.js';
import { createJobManager, createJobReader } from './create-job-manager.js';

const stores = new OpenStores();
afterEach(() => stores.close());

const WAIT = { timeout: 30_000 };
const names = { jobId: 'nightly', taskIndex: 0, numTasks: 2 };
const tags = { ingest: {}, export: {} };
const isFinished = ({ cells }: Progress<unknown>) => cells.finished === cells.total;

async function openBoth(store = stores.create()) {
  const zero = stores.closing(await createJobManager({ store, ...names }, { tags }));
  const one = stores.closing(await createJobManager({ store, ...names, taskIndex: 1 }, { tags }));
  return { store, zero, one };
}

describe('waitFor', () => {
  test('resolves at once if the condition already holds', async () => {
    const { zero, one } = await openBoth();
    await zero.setFinished({ tag: 'ingest' });
    await one.setFinished({ tag: 'ingest' });
    const progress = await zero.waitFor({ tag: 'ingest' }, isFinished);
    expect(progress).toEqual(await zero.getProgress({ tag: 'ingest' }));
    expect(progress.percent).toBe(100);
  });

  test('sees changes between the first read and the subscription, and each change after it', async () => {
    const { store, zero, one } = await openBoth();
    await zero.setFinished({ tag: 'ingest' });
    const racing = overrideStore(store, {
      subscribe(jobId, options) {
        void one.setFinished({ tag: 'ingest' }); // committed while the subscription opens
        return store.subscribe(jobId, options);
      },
    });
    await using reader = await createJobReader({ store: racing, jobId: 'nightly' });
    expect((await reader.waitFor({ tag: 'ingest' }, isFinished)).cells.finished).toBe(2);

    const seen: number[] = [];
    const waiting = zero.waitFor({ tag: 'export' }, ({ lowest }) => {
      seen.push(lowest.status);
      return lowest.status === 12;
    });
    for (const status of [10, 11, 12]) {
      await one.setState({ tag: 'export', status });
      await zero.setState({ tag: 'export', status });
    }
    expect((await waiting).lowest).toMatchObject({ taskId: 0, status: 12, version: 3 });
    expect(seen.at(-1)).toBe(12);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });

  test('its fold equals what the store returns', async () => {
    const { zero, one } = await openBoth();
    await zero.setWarning('slow', { tag: 'ingest' });
    await one.setError('broken', { tag: 'ingest' });
    await zero.updateJob({ expectedTags: ['ingest', 'export', 'cleanup'] });
    for (const scope of [
      {},
      { tag: 'ingest' as const },
      { taskId: 1 },
      { taskId: 0, tag: 'export' as const },
    ]) {
      expect(await zero.waitFor(scope, () => true)).toEqual(await zero.getProgress(scope));
    }
  });

  test('receives expected tags and lost tasks', async () => {
    const { zero } = await openBoth();
    const waiting = zero.waitFor({}, ({ tags: rows }) =>
      rows.some(({ tag }) => String(tag) === 'new'),
    );
    await zero.updateJob({ expectedTags: ['new'] });
    expect((await waiting).cells).toMatchObject({ notStarted: 2, total: 2 });
  });

  test('with history latest it does not resolve on a mixture that never existed', async () => {
    const { store, zero, one } = await openBoth();
    await zero.setState({ tag: 'export', status: 10 });
    await one.setFinished({ tag: 'export' });
    const latest = overrideStore(store, {
      subscribe(jobId, options) {
        const source = store.subscribe(jobId, options);
        return overrideEvents(source, () => asLatest(source));
      },
    });
    await using reader = await createJobReader({ store: latest, jobId: 'nightly' });
    const seen: boolean[] = [];
    const waiting = reader.waitFor({ tag: 'export' }, ({ cells }) => {
      seen.push(cells.finished === cells.total);
      return cells.finished === cells.total;
    });
    await vi.waitFor(() => expect(seen).toEqual([false]), WAIT); // it listens
    await one.setState({ tag: 'export', status: 11, message: 'overwritten' });
    await zero.setFinished({ tag: 'export' });
    await one.setState({ tag: 'export', status: 12 });
    await vi.waitFor(() => expect(seen.filter(Boolean)).toHaveLength(1), WAIT); // the mixture
    const { state } = await one.setFinished({ tag: 'export' });
    expect((await waiting).revision).toBe(state.revision);
  });

  test('an outage error says to call it again; the same error from the predicate is not changed', async () => {
    const { store, zero } = await openBoth();
    const cause = new SynclineError('unavailable', 'connection refused.');
    const outage = storeUnreachable(checkReconnect(), { cursor: undefined, cause });
    const lost = overrideStore(store, {
      subscribe(jobId, options) {
        const source = store.subscribe(jobId, options);
        const failing = { next: () => Promise.reject(outage) };
        return overrideEvents(source, () => ({ [Symbol.asyncIterator]: () => failing }));
      },
    });
    await using reader = await createJobReader({ store: lost, jobId: 'nightly' });
    await expect(reader.waitFor({}, () => false)).rejects.toMatchObject({
      code: 'unavailable',
      message:
        'waitFor of job "nightly" lost its connection to the store: connection refused. Call it again.',
    });
    const throwing = () => {
      throw cause;
    };
    await expect(zero.waitFor({}, throwing)).rejects.toBe(cause);
  });

  test('rejects when the job is deleted, when it is aborted, and with what the predicate throws', async () => {
    const { zero } = await openBoth();
    const stop = new AbortController();
    const aborted = zero.waitFor({}, () => false, { signal: stop.signal });
    stop.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'aborted' });
    const throwing = () => {
      throw new RangeError('mine');
    };
    await expect(zero.waitFor({}, throwing)).rejects.toThrow(RangeError);
    const waiting = zero.waitFor({}, () => false);
    await zero.deleteJob();
    await expect(waiting).rejects.toMatchObject({ code: 'not-found' });
  });
});

/** The latest of each key since the last look: one change is left out, the next waits for its successor. */
async function* asLatest(events: AsyncIterable<JobEvent>): AsyncGenerator<JobEvent> {
  let held: JobEvent | undefined;
  let isHolding = false;
  for await (const event of events) {
    if (event.kind === 'synced') yield { ...event, history: 'latest' };
    else if (event.kind === 'change' && event.state.message === 'overwritten') isHolding = true;
    else if (isHolding && held === undefined) held = event;
    else {
      if (held) yield held;
      [held, isHolding] = [undefined, false];
      yield event;
    }
  }
}
