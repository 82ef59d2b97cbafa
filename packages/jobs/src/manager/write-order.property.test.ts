import { runInSimulation } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { overrideStore, schemaOf } from '../conformance/override-store.js';
import { createMemoryJobStore } from '../embedded/embedded-adapter.js';
import { jobsLimits } from '../limits.js';
import { createJobManager } from './create-job-manager.js';

const names = { jobId: 'job', taskIndex: 0, numTasks: 1 };
const TAGS = ['a', 'b', 'c'];

/** How long a write is checked and sent, in ms, and whether its caller gives up before it is sent. */
const writeArbitrary = fc.record({
  tag: fc.constantFrom(...TAGS),
  checkMs: fc.nat(5),
  sendMs: fc.nat(5),
  isAborted: fc.boolean(),
});

test('writes of one tag are sent one at a time and in call order, whichever caller is slow or gives up', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(writeArbitrary, { maxLength: 20 }), (writes) =>
      runInSimulation('order', async (world) => {
        const { clock } = world;
        const store = createMemoryJobStore(world);
        const inFlight = new Set<string>();
        const sent: number[] = [];
        const slow = overrideStore(store, {
          async setState(write) {
            expect(inFlight.has(write.tag)).toBe(false);
            inFlight.add(write.tag);
            await clock.sleep(writes[write.status]?.sendMs ?? 0);
            inFlight.delete(write.tag);
            sent.push(write.status);
            return store.setState(write);
          },
        });
        const schema = schemaOf(async (payload: { readonly checkMs: number }) => {
          await clock.sleep(payload.checkMs);
          return payload;
        });
        const tags = Object.fromEntries(TAGS.map((tag) => [tag, { schema }]));
        const job = await createJobManager({ store: slow, ...names }, { tags }, world);
        const results = await Promise.allSettled(
          writes.map(({ tag, checkMs, isAborted }, status) =>
            job.setState(
              { tag, status, payload: { checkMs } },
              isAborted ? { signal: AbortSignal.abort() } : {},
            ),
          ),
        );
        const kept = writes.flatMap(({ isAborted }, index) => (isAborted ? [] : [index]));
        const ofTag = (tag: string, order: readonly number[]) =>
          order.filter((index) => writes[index]?.tag === tag);
        for (const tag of TAGS) expect(ofTag(tag, sent)).toEqual(ofTag(tag, kept));
        const isFulfilled = results.flatMap(({ status }, index) =>
          status === 'fulfilled' ? [index] : [],
        );
        expect(isFulfilled).toEqual(kept);
        await job.close();
      }),
    ),
    { numRuns: 25 },
  );
});

test('J20 refuses one more write than may wait, and accepts it when there is room again', () =>
  runInSimulation('full', async (world) => {
    const store = createMemoryJobStore(world);
    const silent = overrideStore(store, { setState: () => new Promise<never>(() => {}) });
    const job = await createJobManager({ store: silent, ...names }, { lease: false }, world);
    const { value } = jobsLimits.writeQueueMax;
    const writes = Array.from({ length: value }, (_, index) =>
      job.setState({ tag: `${index % 7}`, status: 2 }).catch(() => 'failed'),
    );
    const full = { code: 'overloaded', retryable: true, details: { limit: 'writeQueueMax' } };
    await expect(job.setState({ tag: 'other', status: 2 })).rejects.toMatchObject(full);
    expect(new Set(await Promise.all(writes))).toEqual(new Set(['failed']));
    await expect(job.setState({ tag: 'other', status: 2 })).rejects.toMatchObject({
      code: 'timeout',
    });
    await job.close();
  }));

test('J20 refuses more bytes of writes than may wait', () =>
  runInSimulation('heavy', async (world) => {
    const store = createMemoryJobStore(world);
    const silent = overrideStore(store, { setState: () => new Promise<never>(() => {}) });
    const job = await createJobManager({ store: silent, ...names }, { lease: false }, world);
    const payload = { text: 'x'.repeat(60_000) };
    const full = { code: 'overloaded', details: { limit: 'writeQueueBytesMax' } };
    const writes: Promise<unknown>[] = [];
    for (let bytes = 0; bytes < jobsLimits.writeQueueBytesMax.value; bytes += 60_000)
      writes.push(job.setState({ tag: 'a', status: 2, payload }).catch((error: unknown) => error));
    expect(await writes.at(-1)).toMatchObject(full);
    await Promise.all(writes);
    await job.close();
  }));
