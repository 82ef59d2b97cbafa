import { describe, expect, test } from 'vitest';
import {
  CONFIG,
  createServiceRig,
  type DeltaRow,
  type RigClient,
  SEED,
  valuesOf,
  WINDOW_MS,
} from '../testing/service-rig.js';
import { CellMarks } from './cell-marks.js';
import { StreamOutbox } from './stream-outbox.js';

const NEXT_SEED = SEED + BigInt(WINDOW_MS);
const BIG = { ...CONFIG, columns: 10_000 };

function joinedRig(config = CONFIG) {
  const rig = createServiceRig();
  const [writer, slow] = [rig.connect(), rig.connect()];
  writer.hello('api', 'writer', { config });
  slow.hello('api', 'slow', { config });
  rig.pass(1_100);
  writer.take();
  slow.take();
  return { ...rig, writer, slow };
}

/** The next message fills the sink. */
function fill(client: RigClient): void {
  client.hasRoom = false;
}

describe('a stream that is behind', () => {
  test('receives nothing, and then the newest values and its acknowledgement at once', () => {
    const { writer, slow, settle } = joinedRig();
    fill(slow);
    slow.deltas([[0, 0, 0.25]]);
    settle();
    expect(slow.take()).toMatchObject([{ ackedSeq: 1 }]);
    for (let round = 0; round < 20; round += 1) {
      writer.deltas([
        [0, 1, 0.02],
        [1, 1, 0.01],
      ]);
      if (round % 5 === 0) slow.deltas([[2, 2, 0.1]]);
      settle();
    }
    expect(slow.take()).toEqual([]);
    expect(writer.take().length).toBeGreaterThanOrEqual(20);
    slow.drained();
    const [response, ...more] = slow.take();
    expect(more).toEqual([]);
    expect(response?.ackedSeq).toBe(5);
    const values = response && valuesOf(response);
    expect(values?.size).toBe(3);
    expect(values?.get('0/1')).toBeCloseTo(0.4, 12);
    expect(values?.get('2/2')).toBeCloseTo(0.4, 12);
    writer.deltas([[0, 5, 0.5]]);
    settle();
    expect(slow.take()).toMatchObject([{ cells: { count: 1 } }]);
  });

  test('misses no cell of the round in which it fell behind', () => {
    const { writer, slow, settle } = joinedRig();
    fill(slow);
    writer.deltas([[0, 0, 0.5]]);
    writer.deltas([[0, 1, 0.5]], NEXT_SEED);
    settle();
    expect(slow.take()).toMatchObject([{ seed: SEED }]);
    slow.drained();
    expect(slow.take()).toMatchObject([{ seed: NEXT_SEED, cells: { count: 1 } }]);
  });

  test('gets a snapshot that it requested in the meantime, once', () => {
    const { writer, slow, settle } = joinedRig();
    fill(slow);
    writer.deltas([[0, 0, 0.5]]);
    settle();
    slow.take();
    slow.requestState();
    writer.deltas([[0, 1, 0.5]]);
    settle();
    slow.requestState();
    slow.drained();
    expect(slow.take()).toMatchObject([
      { isSnapshot: true, snapshotEnd: true, cells: { count: 2 } },
    ]);
  });

  test('a long snapshot stops when the sink is full, and no other message of its seed comes in between', () => {
    const { writer, slow, settle } = joinedRig(BIG);
    const rows = (level: number, from: number) =>
      Array.from({ length: 5_000 }, (_, index): DeltaRow => [level, from + index, 0.5]);
    for (const level of [0, 1]) for (const from of [0, 5_000]) writer.deltas(rows(level, from));
    settle();
    writer.take();
    slow.take();
    fill(slow);
    slow.requestState();
    writer.deltas([[0, 0, 0.25]]); // listed already
    slow.deltas([[1, 9_999, 0.25]]); // not yet listed
    settle();
    expect(slow.take()).toMatchObject([{ isSnapshot: true, snapshotEnd: false, ackedSeq: 0 }]);
    slow.drained();
    const responses = slow.take();
    expect(responses.map(({ isSnapshot }) => isSnapshot)).toEqual([true, true, false]);
    expect(responses.map(({ snapshotEnd }) => snapshotEnd)).toEqual([false, true, false]);
    expect(responses.map(({ ackedSeq }) => ackedSeq)).toEqual([0, 0, 1]);
    expect(responses[2] && valuesOf(responses[2]).get('0/0')).toBe(0.75);
  });

  test('receives its Welcome even if it fell behind before its hello', () => {
    const { connect, settle } = createServiceRig();
    const [plain, client] = [connect(), connect()];
    fill(client);
    plain.deltas([[0, 0, 0.5]]);
    settle();
    expect(client.take()).toHaveLength(1);
    client.hello('api', 'late');
    plain.deltas([[0, 1, 0.5]]);
    settle();
    expect(client.take()).toEqual([]);
    client.drained();
    expect(client.take()).toMatchObject([{ welcome: { activeInstances: 1 } }]);
  });

  test('F9 holds one bit per live cell, however much it misses, and delays no other stream', () => {
    const rig = createServiceRig();
    const clients = Array.from({ length: 100 }, (_, index) => {
      const client = rig.connect();
      client.hello('api', `c${index}`, { config: BIG });
      return client;
    });
    const stalled = clients.slice(90);
    rig.pass(1_100);
    for (const client of clients) client.take();
    for (const client of stalled) fill(client);
    const [writer, reader] = clients;
    const heapBefore = process.memoryUsage().heapUsed;
    for (let round = 0; round < 40; round += 1) {
      const rows = Array.from(
        { length: 100 },
        (_, index): DeltaRow => [index % 3, (round * 37 + index) % 10_000, 0.01],
      );
      writer?.deltas(rows);
      rig.settle();
      for (const client of clients.slice(0, 90)) {
        expect(client.take().length).toBe(1);
        client.bytes.length = 0;
      }
    }
    for (const client of stalled) expect(client.take().length).toBe(1);
    expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(50 * 2 ** 20);
    const facts = rig.service.describe(0).namespaces.find(({ tracker }) => tracker === 'api');
    expect(facts).toMatchObject({ streams: 100, streamsBehind: 10 });
    for (const client of stalled) client.drained();
    reader?.requestState();
    const wanted = reader?.take().reduce((sum, { cells }) => sum + cells.count, 0);
    for (const client of stalled) {
      const heard = client.take().reduce((sum, { cells }) => sum + cells.count, 0);
      expect(heard).toBeGreaterThan(0);
      expect(heard).toBeLessThanOrEqual(wanted ?? 0);
    }
  });

  test('F9 marks of a quarter of a million cells take 32 KiB', () => {
    const outbox = new StreamOutbox({ write: () => false, end() {} });
    const marks = new CellMarks(262_144);
    for (let slot = 0; slot < 262_144; slot += 1) marks.add(slot);
    for (let round = 0; round < 3; round += 1) outbox.miss(SEED, marks);
    expect(outbox.missed.get(SEED)?.count).toBe(262_144);
    expect(outbox.missed.get(SEED)?.bytes).toBeLessThanOrEqual(65_536);
  });

  test('a client that requests more and more seeds and reads nothing is disconnected', () => {
    const { connect } = createServiceRig();
    const client = connect();
    fill(client);
    for (let seed = 0n; seed < 66n; seed += 1n) client.requestState(seed);
    expect(client.error?.code).toBe('limit-exceeded');
  });
});

describe('snapshots and acknowledgements of a named tracker', () => {
  test('requests within 100 ms share one answer', () => {
    const { slow, pass } = joinedRig();
    slow.requestState();
    slow.requestState();
    slow.requestState(NEXT_SEED);
    expect(slow.take().map(({ seed }) => seed)).toEqual([SEED, NEXT_SEED]);
    pass(100);
    slow.requestState();
    expect(slow.take()).toHaveLength(1);
  });

  test('cells below 10^-6 are left out', () => {
    const { writer, slow, settle } = joinedRig();
    writer.deltas([
      [0, 0, 0.9e-6],
      [0, 1, 1.1e-6],
    ]);
    settle();
    slow.take();
    slow.requestState();
    expect(slow.take().map((response) => [...valuesOf(response).keys()])).toEqual([['0/1']]);
  });

  test('a snapshot carries the acknowledgement of what it includes, and no other', () => {
    const { slow, settle } = joinedRig();
    slow.deltas([[0, 0, 0.5]]);
    slow.requestState();
    expect(slow.take()).toMatchObject([{ isSnapshot: true, ackedSeq: 1, cells: { count: 1 } }]);
    settle();
    expect(slow.take()).toMatchObject([{ ackedSeq: 0, cells: { count: 1 } }]);
    slow.deltas([[0, 0, 0.1]], NEXT_SEED);
    slow.deltas([[0, 0, 0.1]]);
    slow.requestState(NEXT_SEED);
    expect(slow.take()).toMatchObject([{ isSnapshot: true, ackedSeq: 0 }]);
    settle();
    expect(slow.take().map(({ ackedSeq }) => ackedSeq)).toEqual([0, 3]);
  });
});
