import { describe, expect, test } from 'vitest';
import type { Overflow } from '../job-event.js';
import { createFeedRig, line, settle, take } from './testing/feed-rig.js';

const four = (cell: string) => [cell, cell, cell, cell];

/** A subscriber that is live and has read the change at revision 1, with a buffer of 4. */
async function liveReader(overflow: Overflow, history: 'all' | 'latest' = 'all') {
  const rig = createFeedRig({ history });
  const subscription = rig.subscribe({ overflow, buffer: { maxEvents: 4 } });
  const stream = subscription[Symbol.asyncIterator]();
  await take(stream, 1);
  const first = take(stream, 1);
  await settle();
  rig.write('0a');
  await first;
  return { ...rig, subscription, stream };
}

describe('a slow subscriber', () => {
  test('J17 under block reads every revision again', async () => {
    const { write, stream } = await liveReader('block');
    write(...four('0a'), '1a');
    expect(await take(stream, 5)).toEqual([
      'change 0a i1:2',
      'change 0a i1:3',
      'change 0a i1:4',
      'change 0a i1:5',
      'change 1a i1:6',
    ]);
  });

  test('J17 under coalesce gets a gap and the latest of each key', async () => {
    const { write, stream } = await liveReader('coalesce');
    write(...four('0a'), '1a');
    expect(await take(stream, 4)).toEqual([
      'gap overflow 1-6',
      'change 0a i1:5',
      'change 1a i1:6',
      'live i1:6',
    ]);
  });

  test('J17 of a store with the latest alone is coalesced, also under block', async () => {
    const { write, stream } = await liveReader('block', 'latest');
    write(...four('0a'), '1a');
    expect(await take(stream, 4)).toEqual([
      'gap overflow 1-6',
      'change 0a i1:5',
      'change 1a i1:6',
      'live i1:6',
    ]);
  });

  test('J17 under fail gets what is buffered, then overflow with its cursor, and can resume there', async () => {
    const { write, stream, subscribe, subscription, quota } = await liveReader('fail');
    write(...four('0a'), '1a', '2a');
    expect(await take(stream, 4)).toHaveLength(4);
    const error = await stream.next().catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'overflow', details: { cursor: 'i1:5' } });
    expect([subscription.cursor, quota.count]).toEqual(['i1:5', 0]);
    const again = subscribe({ after: error.details.cursor })[Symbol.asyncIterator]();
    expect(await take(again, 4)).toEqual([
      'synced i1:5 all resumed',
      'change 1a i1:6',
      'change 2a i1:7',
      'live i1:7',
    ]);
  });

  test('J17 is not one that waits: a whole commit comes to it, though larger than its buffer', async () => {
    const { write, subscribe } = createFeedRig();
    const batches = subscribe({ overflow: 'fail' }).batches()[Symbol.asyncIterator]();
    await batches.next();
    const next = batches.next();
    await settle();
    write(...Array.from({ length: 512 }, () => '0a'));
    expect((await next).value).toHaveLength(512);
  });

  test('J17 is bounded by bytes too', async () => {
    const { subscribe, source, publish } = createFeedRig();
    const stream = subscribe({ overflow: 'coalesce', buffer: { maxBytes: 65_536 } })[
      Symbol.asyncIterator
    ]();
    await take(stream, 1);
    const first = take(stream, 1);
    await settle();
    publish(source.state(0, 'a'));
    await first;
    for (let i = 0; i < 20; i += 1) {
      const change = source.state(0, 'a');
      if (change.kind !== 'state') throw new Error('a state');
      publish({ ...change, state: { ...change.state, message: 'x'.repeat(4_096) } });
    }
    expect((await take(stream, 1))[0]).toBe('gap overflow 1-21');
  });

  test('J17 that has read a part of a coalesced stretch still gets the last of each key', async () => {
    const { write, stream } = await liveReader('coalesce');
    write(...four('0a'), '1a', '2a');
    expect(await take(stream, 2)).toEqual(['gap overflow 1-7', 'change 0a i1:5']);
    write('1a', '1a');
    expect(await take(stream, 5)).toEqual([
      'change 1a i1:6',
      'change 2a i1:7',
      'change 1a i1:8',
      'change 1a i1:9',
      'live i1:9',
    ]);
  });

  test('is counted', async () => {
    const counted: unknown[] = [];
    const metrics = {
      add: (...what: unknown[]) => counted.push(what),
      set() {},
      observe() {},
    };
    const { write, subscribe } = createFeedRig({ metrics });
    const stream = subscribe({ buffer: { maxEvents: 4 } })
      .batches()
      [Symbol.asyncIterator]();
    await stream.next();
    const next = stream.next();
    await settle();
    write('0a');
    await next;
    write(...four('0a'), ...four('0a'));
    expect(counted).toEqual([['syncline_jobs_subscription_drops_total', 1, { reason: 'block' }]]);
    const { value } = await stream.next();
    expect(value?.map(line)).toHaveLength(8);
  });
});
