import { silentMetrics } from '@syncline/kernel';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import { overrideEvents, overrideStore, schemaOf } from '../conformance/override-store.js';
import type { JobEvent, JobSubscription } from '../job-store.js';
import { createJobManager } from './create-job-manager.js';

const stores = new OpenStores();
afterEach(() => stores.close());

const withMany = schemaOf(({ rows }: { readonly rows: number }) => ({ rows, isMany: rows > 100 }));
const tags = { ingest: { schema: withMany }, export: {} };
const statuses = { parsing: 20 };
const names = { jobId: 'nightly', taskIndex: 0, numTasks: 2 };

const open = (store = stores.create(), options = {}) =>
  createJobManager({ store, ...names }, { tags, statuses, ...options });

/** The next `count` events of a subscription, which stays open. */
async function take<E>(events: AsyncIterator<E>, count: number): Promise<E[]> {
  const taken: E[] = [];
  while (taken.length < count) {
    const next = await events.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}

describe('a subscription of a manager', () => {
  test('replays, sends `synced`, then continues live; states are read by their tags', async () => {
    await using job = await open();
    await job.setState({ tag: 'ingest', status: 'parsing', payload: { rows: 200 } });
    await job.setStarted({ tag: 'export' });
    await using subscription = job.subscribe({ tag: 'ingest' });
    expect(subscription.cursor).toBeUndefined();
    const events = subscription[Symbol.asyncIterator]();
    const [snapshot, synced] = await take(events, 2);
    expect(snapshot).toMatchObject({
      kind: 'snapshot',
      state: { status: 20, statusName: 'parsing', payload: { rows: 200, isMany: true } },
    });
    expect(synced).toMatchObject({ kind: 'synced', resumed: false });
    await job.setFinished({ tag: 'ingest', payload: { rows: 1 } });
    const [change] = await take(events, 1);
    expect(change).toMatchObject({ kind: 'change', state: { payload: { isMany: false } } });
    expect(subscription.cursor).toBe(change?.kind === 'change' ? change.cursor : '');
  });

  test('a payload that cannot be read is delivered, and the stream continues', async () => {
    const store = stores.create();
    await using job = await open(store);
    const { epoch } = await job.heartbeat();
    const { incarnation } = job.info;
    const base = {
      jobId: names.jobId,
      taskId: 0,
      incarnation,
      epoch,
      status: 1,
      message: '',
      eventId: 'a',
    };
    await store.setState({ ...base, tag: 'ingest', schemaVersion: 9, payload: { rows: 1 } });
    await store.setState({ ...base, tag: 'unheard', schemaVersion: 1, payload: { rows: 1 } });
    await using subscription = job.subscribe();
    const events = await take(subscription[Symbol.asyncIterator](), 3);
    expect(events.map(({ kind }) => kind)).toEqual(['snapshot', 'snapshot', 'synced']);
    for (const event of events.slice(0, 2)) {
      expect(event).toMatchObject({ state: { rawPayload: { rows: 1 }, payloadIssues: [{}] } });
    }
  });

  test('comes in batches, too', async () => {
    await using job = await open();
    for (const status of [2, 3, 4]) await job.setState({ tag: 'export', status });
    await job.setState({ tag: 'ingest', status: 5, payload: { rows: 101 } });
    await using subscription = job.subscribe();
    const seen: JobEvent['kind'][] = [];
    for await (const batch of subscription.batches(2)) {
      expect(batch.length).toBeGreaterThan(0);
      expect(batch.length).toBeLessThanOrEqual(2);
      seen.push(...batch.map(({ kind }) => kind));
      const last = batch.at(-1);
      expect(subscription.cursor).toBe(last !== undefined && 'cursor' in last ? last.cursor : '');
      if (seen.includes('synced')) break;
    }
    expect(seen).toEqual(['snapshot', 'snapshot', 'synced']);
  });

  test('continues where another one stopped', async () => {
    await using job = await open();
    await job.setStarted({ tag: 'export' });
    await using first = job.subscribe();
    await take(first[Symbol.asyncIterator](), 2);
    const { cursor } = first;
    await job.setFinished({ tag: 'export' });
    const kept: string | undefined = cursor; // as a file gives it back
    await using second = job.subscribe({ after: kept });
    const [synced, change] = await take(second[Symbol.asyncIterator](), 2);
    expect(synced).toMatchObject({ kind: 'synced', resumed: true });
    expect(change).toMatchObject({ kind: 'change', state: { version: 2 } });
  });

  test.each(['', 'nonsense', '17:x'])('refuses to resume after %j', async (after) => {
    await using job = await open();
    const following = async () => take(job.subscribe({ after })[Symbol.asyncIterator](), 1);
    await expect(following()).rejects.toMatchObject({
      code: 'invalid-argument',
      details: { field: 'after' },
    });
  });

  test('J21 ends without an error when its signal fires, and drops what is buffered', async () => {
    let disposals = 0;
    const memory = stores.create();
    const store = overrideStore(memory, {
      subscribe(jobId, options) {
        const source = memory.subscribe(jobId, options);
        const dispose = async () => {
          disposals += 1;
          await source[Symbol.asyncDispose]();
        };
        return new Proxy(source, {
          get(target, name) {
            if (name === Symbol.asyncDispose) return dispose;
            const found: unknown = Reflect.get(target, name, target);
            return typeof found === 'function' ? found.bind(target) : found;
          },
        });
      },
    });
    await using job = await open(store);
    for (const tag of ['ingest', 'export'] as const) await job.setStarted({ tag });
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const event of job.subscribe({ signal: stop.signal })) {
      seen.push(event.kind);
      stop.abort();
    }
    expect(seen).toEqual(['snapshot']);
    expect(disposals).toBe(1);
    for await (const event of job.subscribe({ signal: stop.signal }))
      expect.unreachable(event.kind);
  });

  test('an event that is being read when it ends is dropped', async () => {
    const stop = new AbortController();
    let checks = 0;
    const slow = schemaOf(async (value: { readonly rows: number }) => {
      if (value.rows === 2) checks += 1;
      if (checks === 3) stop.abort(); // before sending, in the answer, and now in the subscription
      return value;
    });
    await using job = await open(stores.create(), { tags: { ingest: { schema: slow } } });
    await job.setStarted({ tag: 'ingest', payload: { rows: 1 } });
    const seen: string[] = [];
    for await (const event of job.subscribe({ signal: stop.signal })) {
      seen.push(event.kind);
      if (event.kind === 'synced') await job.setStarted({ tag: 'ingest', payload: { rows: 3 } });
      if (event.kind === 'change') await job.setStarted({ tag: 'ingest', payload: { rows: 2 } });
    }
    expect(seen).toEqual(['snapshot', 'synced', 'change']);
  });

  test('reports its replay, and dropped buffers', async () => {
    const memory = stores.create();
    const gap: JobEvent = { kind: 'gap', reason: 'overflow', fromRevision: 1, toRevision: 2 };
    const store = overrideStore(memory, {
      subscribe(jobId, options): JobSubscription {
        const source = memory.subscribe(jobId, options);
        async function* withGap() {
          for await (const event of source) yield* event.kind === 'synced' ? [event, gap] : [event];
        }
        return overrideEvents(source, withGap);
      },
    });
    const observer = { ...silentMetrics, add: vi.fn(), observe: vi.fn() };
    await using job = await open(store, { observer });
    await using events = job.subscribe();
    await take(events[Symbol.asyncIterator](), 2);
    expect(observer.observe.mock.calls).toEqual([
      ['syncline_jobs_replay_duration_seconds', expect.any(Number)],
    ]);
    expect(observer.add.mock.calls).toEqual([
      ['syncline_jobs_subscription_drops_total', 1, { reason: 'coalesce' }],
    ]);
  });
});
