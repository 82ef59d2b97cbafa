import { describe, expect, test } from 'vitest';
import type { Cursor, JobEvent } from '../job-event.js';
import { framesOf } from '../wire/frame-writer.js';
import { createFeedRig, settle, take } from './testing/feed-rig.js';

const cursor = (text: string) => text as Cursor;

describe('a subscriber of a job', () => {
  test('J16 sees what is there, synced, then what happens', async () => {
    const { write, subscribe } = createFeedRig();
    write('0a', '1b', '0a');
    const stream = subscribe()[Symbol.asyncIterator]();
    expect(await take(stream, 3)).toEqual([
      'snapshot 1b i1:2~',
      'snapshot 0a i1:3~',
      'synced i1:3 all',
    ]);
    const next = take(stream, 2);
    write('2a', '0a');
    expect(await next).toEqual(['change 2a i1:4', 'change 0a i1:5']);
  });

  test('J16 gets synced also for an empty scope, and nothing else', async () => {
    const { write, subscribe } = createFeedRig();
    write('0a', '1b');
    const stream = subscribe({ scope: { taskId: 3 } })[Symbol.asyncIterator]();
    expect(await take(stream, 1)).toEqual(['synced i1:2 all']);
  });

  test('J11 sees of its scope what the whole stream has of it', async () => {
    const scopes = [{ taskId: 0 }, { tag: 'a' }, { taskId: 0, tag: 'a' }];
    const expected = [
      ['snapshot 0b i1:2~', 'snapshot 0a i1:3~', 'synced i1:4 all', 'change 0b i1:5'],
      ['snapshot 0a i1:3~', 'snapshot 1a i1:4~', 'synced i1:4 all', 'change 1a i1:7'],
      ['snapshot 0a i1:3~', 'synced i1:4 all', 'change 0a i1:8'],
    ];
    for (const [index, scope] of scopes.entries()) {
      const { write, subscribe } = createFeedRig();
      write('0a', '0b', '0a', '1a');
      const stream = subscribe({ scope })[Symbol.asyncIterator]();
      const lines = take(stream, expected[index]?.length ?? 0);
      await settle();
      write('0b', '2c', '1a', '0a');
      expect(await lines).toEqual(expected[index]);
    }
  });

  test('J5 gets leases and metadata in order of revisions on both sides of synced, if it asks', async () => {
    const { source, publish, subscribe } = createFeedRig();
    publish(source.job('i1'), source.lease(0), source.state(0, 'a'), source.lease(1));
    publish(source.lease(0));
    const stream = subscribe({ include: ['lease', 'job'] })[Symbol.asyncIterator]();
    expect(await take(stream, 5)).toEqual([
      'job i1:1~',
      'snapshot 0a i1:3~',
      'lease 1 i1:4~',
      'lease 0 i1:5~',
      'synced i1:5 all',
    ]);
    const next = take(stream, 2);
    publish(source.lease(1, 'lost'), source.job('i1'));
    expect(await next).toEqual(['lease 1 i1:6', 'job i1:7']);
    const narrow = subscribe({ scope: { taskId: 1, tag: 'x' }, include: ['lease'] });
    expect(await take(narrow[Symbol.asyncIterator](), 2)).toEqual([
      'lease 1 i1:6~',
      'synced i1:7 all',
    ]);
  });

  test('J9 resumes at any cursor: synced, what came after it, live', async () => {
    const { write, subscribe } = createFeedRig();
    write('0a', '1a', '2a');
    const stream = subscribe({ after: cursor('i1:1') })[Symbol.asyncIterator]();
    expect(await take(stream, 4)).toEqual([
      'synced i1:1 all resumed',
      'change 1a i1:2',
      'change 2a i1:3',
      'live i1:3',
    ]);
  });

  test('J9 resumes inside a replay: the rest of it comes', async () => {
    const { write, subscribe } = createFeedRig();
    write('0a', '1a', '2a', '0a');
    const stream = subscribe({ after: cursor('i1:2~') })[Symbol.asyncIterator]();
    expect(await take(stream, 3)).toEqual([
      'snapshot 2a i1:3~',
      'snapshot 0a i1:4~',
      'synced i1:4 all',
    ]);
  });

  test.each(['i2:1', 'i1-1:1', 'i1:9', 'i1:9~', 'i2:0~'])(
    'J9 with the cursor %s, of another past, gets a reset and a snapshot',
    async (after) => {
      const { write, subscribe } = createFeedRig();
      write('0a');
      const revision = Number.parseInt(after.split(':')[1] ?? '', 10);
      const subscription = subscribe({ after: cursor(after) });
      const stream = subscription[Symbol.asyncIterator]();
      expect(subscription.cursor).toBe(after);
      expect(await take(stream, 1)).toEqual([`gap reset ${revision}-${revision}`]);
      expect(subscription.cursor).toBe('i1:0~');
      expect(await take(stream, 2)).toEqual(['snapshot 0a i1:1~', 'synced i1:1 all']);
    },
  );

  test('J7 behind what is kept gets a gap and the latest of each key', async () => {
    const { source, write, subscribe } = createFeedRig({ ringChangesMax: 2 });
    write('0a', '1a', '0a', '1a', '2a');
    source.compact(1);
    const stream = subscribe({ after: cursor('i1:1') })[Symbol.asyncIterator]();
    expect(await take(stream, 6)).toEqual([
      'synced i1:1 all resumed',
      'gap compacted 1-5',
      'change 0a i1:3',
      'change 1a i1:4',
      'change 2a i1:5',
      'live i1:5',
    ]);
  });

  test('what is kept is counted with the bytes of its frames, and bounded so', async () => {
    const ringBytesMax = 40_000;
    const { feed, source, publish } = createFeedRig({ ringBytesMax });
    const events: JobEvent[] = [];
    for (let index = 0; index < 20; index += 1) {
      const change = source.state(index, 'a');
      if (change.kind !== 'state') throw new Error('a state');
      const state = { ...change.state, message: 'x'.repeat(4_000) };
      publish({ ...change, state });
      events.push({ kind: 'change', state, cursor: cursor(`i1:${state.revision}`) });
      if (index > 3) continue;
      const frameBytes = [...framesOf(events)].reduce((sum, { length }) => sum + length, 0);
      const stateBytes = events.length * 4_000;
      expect(feed.ringBytes).toBeGreaterThanOrEqual(frameBytes + stateBytes);
    }
    expect(feed.ringBytes).toBeLessThanOrEqual(ringBytesMax);
    expect(feed.ringBytes).toBeGreaterThan(ringBytesMax / 2);
  });

  test('J7 of a narrow scope is not behind because others were busy', async () => {
    const { source, write, subscribe } = createFeedRig({ ringChangesMax: 8 });
    const narrow = subscribe({ scope: { taskId: 3 }, buffer: { maxEvents: 4 } });
    const stream = narrow[Symbol.asyncIterator]();
    await take(stream, 1);
    const first = take(stream, 1);
    await settle();
    write('3a');
    await first;
    write(...Array.from({ length: 50 }, () => '0a'));
    source.compact(0);
    write('3a', '3b', '3c', '3d', '3e');
    expect((await take(stream, 5)).map((each) => each.split(' ')[0])).toEqual(
      Array.from({ length: 5 }, () => 'change'),
    );
  });

  test('gets the same event object as every other one', async () => {
    const { write, subscribe } = createFeedRig();
    const all: JobEvent[][] = [[], []];
    const streams = all.map(() => subscribe().batches()[Symbol.asyncIterator]());
    await Promise.all(streams.map((stream) => stream.next()));
    const batches = streams.map((stream) => stream.next());
    await settle();
    write('0a', '1a');
    const [one, two] = (await Promise.all(batches)).map(({ value }) => value);
    expect(one).toHaveLength(2);
    expect(one?.[0]).toBe(two?.[0]);
  });

  test('knows its cursor behind each event, also in the middle of a batch that it reads by event', async () => {
    const { write, subscribe } = createFeedRig();
    write('0a', '1a', '2a');
    const subscription = subscribe();
    expect(subscription.cursor).toBeUndefined();
    for await (const event of subscription) {
      if ('cursor' in event) expect(subscription.cursor).toBe(event.cursor);
      if (event.kind === 'synced') break;
    }
    expect(subscription.cursor).toBe('i1:3');
  });
});
