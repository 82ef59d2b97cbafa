import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { ConformanceCase } from '@syncline/kernel/testing';
import { type LocalService, loadEdited, startNats } from '@syncline/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sourceSuite } from '../conformance/source-suite.js';
import * as code from '../nats.js';
import { type NatsPosition, natsSource } from '../nats.js';
import type { Json, SourceBatch } from './source.js';

let nats: LocalService;
let connection: NatsConnection;
let manager: JetStreamManager;

beforeAll(async () => {
  nats = await startNats();
  connection = await connect({ servers: nats.url });
  manager = await jetstreamManager(connection);
});
afterAll(async () => {
  await connection.close();
  await nats[Symbol.asyncDispose]();
});

const signal = new AbortController().signal;

async function newStream(config: object = {}): Promise<void> {
  await manager.streams.delete('in').catch(() => false);
  await manager.streams.add({ name: 'in', subjects: ['in.>'], ...config });
}

async function publish(...records: readonly Json[]): Promise<void> {
  const client = jetstream(connection);
  await Promise.all(records.map((record) => client.publish('in.a', JSON.stringify(record))));
}

type Code = typeof code;

interface Settings {
  readonly allowGaps?: boolean;
  readonly follow?: boolean;
}

function open(more: Settings = {}, by: Code = code) {
  return by.natsSource<Json>({ uid: 'in', servers: nats.url, streams: ['in'], ...more });
}

async function nextBatch(
  from: NatsPosition | null,
  more: Settings = {},
  by: Code = code,
): Promise<SourceBatch<Json, NatsPosition>> {
  for await (const batch of open(more, by).read('in', from, signal)) return batch;
  throw new Error('the source ended');
}

const losses = {
  'trimmed past the position': async () => void (await manager.streams.purge('in', { seq: 6 })),
  'a message behind the position deleted': async () =>
    void (await manager.streams.deleteMessage('in', 4)),
  deleted: async () => void (await manager.streams.delete('in')),
  'created again with as many messages': async () => {
    await newStream();
    await publish(0, 1, 2, 3, 4, 5);
  },
  'created again and still shorter': async () => {
    await newStream();
    await publish(0);
  },
};
// A message deleted from the middle is detected where it is missing, not from the stream's info.
const seenWhenReading = 'a message behind the position deleted';
const sourceCases = (by: Code) =>
  sourceSuite(
    async () => {
      await newStream();
      return {
        open: () => open({}, by),
        partition: 'in',
        append: (records) => publish(...records),
        appendBad: async () => void (await jetstream(connection).publish('in.a', '{broken')),
        losses,
        [Symbol.asyncDispose]: async () => {},
      };
    },
    Object.keys(losses).filter((name) => name !== seenWhenReading),
  );

/** Message 4 of 5 is deleted after a position at 3. */
async function deleteFromTheMiddle(by: Code): Promise<void> {
  await newStream();
  await publish(1, 2, 3);
  const { position } = await nextBatch(null);
  await publish(4, 5);
  await losses[seenWhenReading]();
  await expect(nextBatch(position, {}, by)).rejects.toMatchObject({ code: 'position-lost' });
  expect((await nextBatch(position, { allowGaps: true }, by)).items).toEqual([5]);
}

describe('natsSource', () => {
  test.each(sourceCases(code))('$name', ({ run }) => run());

  test('T20 a message deleted from the middle is detected, unless gaps are allowed', () =>
    deleteFromTheMiddle(code));

  test('T20 a stream that is created again while a reader waits ends the read, and its position is lost', async () => {
    await newStream();
    await publish(1, 2);
    const batches = open().read('in', null, signal)[Symbol.asyncIterator]();
    const { position } = (await batches.next()).value as SourceBatch<Json, NatsPosition>;
    const ended = expect(batches.next()).rejects.toThrow();
    await newStream();
    await publish(1, 2, 3);
    await ended;
    await expect(nextBatch(position)).rejects.toMatchObject({ code: 'position-lost' });
  });

  test('a stream whose head has expired is read from where it now begins', async () => {
    await newStream({ max_msgs: 3 });
    await publish(1, 2, 3, 4, 5);
    const { items, position } = await nextBatch(null);
    expect(items).toEqual([3, 4, 5]);
    await publish(6);
    expect((await nextBatch(position)).items).toEqual([6]);
  });

  test.each([
    { max_msgs_per_subject: 1 },
    { allow_rollup_hdrs: true },
    { retention: 'interest' },
    { retention: 'workqueue' },
  ])('streams that delete from the middle are refused: %o', async (config) => {
    await newStream(config);
    await expect(nextBatch(null)).rejects.toMatchObject({ code: 'invalid-argument' });
  });

  test('a waiting reader receives messages as they come, with the number of those still waiting', async () => {
    await newStream();
    const stop = new AbortController();
    const batches = open().read('in', null, stop.signal)[Symbol.asyncIterator]();
    const waiting = batches.next();
    await publish('first');
    expect((await waiting).value).toMatchObject({ items: ['first'], lagRecords: 0 });
    stop.abort();
    expect(await batches.next()).toMatchObject({ done: true });
  });

  test('a finite source ends where the stream ended when it was opened', async () => {
    await newStream();
    const ends: (boolean | undefined)[] = [];
    for await (const { end } of open({ follow: false }).read('in', null, signal)) ends.push(end);
    expect(ends).toEqual([true]);
    await publish(...Array.from({ length: 700 }, (_, index) => index));
    const items: Json[] = [];
    for await (const batch of open({ follow: false }).read('in', null, signal))
      items.push(...batch.items);
    expect(items).toHaveLength(700);
    await manager.streams.purge('in');
    ends.length = 0;
    for await (const { end } of open({ follow: false }).read('in', null, signal)) ends.push(end);
    expect(ends).toEqual([true]);
  });

  test('a missing stream is named, and T28 a position beyond 2^53 is refused', async () => {
    await manager.streams.delete('in').catch(() => false);
    await expect(nextBatch(null)).rejects.toMatchObject({ code: 'not-found' });
    await newStream();
    const { created } = await manager.streams.info('in');
    const position = { created, seq: '9007199254740993' };
    await expect(open().check('in', position, signal)).rejects.toMatchObject({
      code: 'bad-record',
    });
  });
});

test('a killed server is a retryable error, and reading continues after the position', async () => {
  await using own = await startNats();
  const before = await connect({ servers: own.url });
  const streams = await jetstreamManager(before);
  await streams.streams.add({ name: 'in', subjects: ['in.>'] });
  await jetstream(before).publish('in.a', '1');
  const source = natsSource<Json>({ uid: 'in', servers: own.url, streams: ['in'] });
  const batches = source.read('in', null, signal)[Symbol.asyncIterator]();
  const { items, position } = (await batches.next()).value as SourceBatch<Json, NatsPosition>;
  expect(items).toEqual([1]);
  await before.close();
  const unreachable = { code: 'unavailable', retryable: true };
  const broken = expect(batches.next()).rejects.toMatchObject(unreachable);
  await own.kill();
  await broken;
  await expect(source.check('in', position, signal)).rejects.toMatchObject(unreachable);
  await own.start();
  const after = await connect({ servers: own.url });
  await jetstream(after).publish('in.a', '2');
  await after.close();
  const again = source.read('in', position, signal)[Symbol.asyncIterator]();
  expect((await again.next()).value).toMatchObject({ items: [2] });
  await again.return?.();
});

describe('planted bugs', () => {
  const caseOf = (name: string) => (by: Code) => {
    const found = sourceCases(by).find((each: ConformanceCase) => each.name.includes(name));
    expect(found, name).toBeDefined();
    return found?.run() ?? Promise.resolve();
  };
  test.each([
    {
      bug: 'T20 a stream that was created again is accepted',
      find: 'info.created !== position.created',
      run: caseOf('T20 created again with as many'),
    },
    {
      bug: 'T20 messages that were trimmed are not noticed',
      find: 'firstSeq > seq + 1 && this.#options.allowGaps !== true',
      run: caseOf('T20 trimmed past'),
    },
    {
      bug: 'T20 a jump of the sequence numbers is accepted',
      find: 'message.seq !== seq + 1',
      run: deleteFromTheMiddle,
    },
  ])('$bug', async ({ bug, find, run }) => {
    const name = `streams-${bug.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
    const edits = [{ file: 'ends/nats-source', find, replace: 'false' }];
    const edited = await loadEdited({ folder: 'streams', entry: 'nats', bug: name, edits });
    await expect(run(edited as Code)).rejects.toThrow();
  });
});
