import { silentLogger, silentMetrics } from '@syncline/kernel';
import { describe, expect, test, vi } from 'vitest';
import { fairLimits } from '../limits.js';
import {
  CONFIG,
  createServiceRig,
  deltasOf,
  type RigClient,
  SEED,
  valuesOf,
  WINDOW_MS,
} from '../testing/service-rig.js';
import { namespaceOf } from './hello-checks.js';

const NEXT_SEED = SEED + BigInt(WINDOW_MS);

function lastValue(client: RigClient, cell: string): number | undefined {
  return client
    .take()
    .map((response) => valuesOf(response).get(cell))
    .findLast((value) => value !== undefined);
}

describe('the default tracker', () => {
  test('sums, clamps, keeps the highest time, and notifies every stream, including silent ones', () => {
    const { connect, settle } = createServiceRig();
    const [sender, silent] = [connect(), connect()];
    sender.deltas([[0, 7, 0.75]]);
    sender.deltas([
      [0, 7, 0.5],
      [9, 2 ** 40, -3],
    ]);
    settle();
    for (const client of [sender, silent]) {
      const [response, ...more] = client.take();
      expect(more).toEqual([]);
      expect(response?.seed).toBe(SEED);
      expect(response && [...valuesOf(response)]).toEqual([
        ['0/7', 1],
        [`9/${2 ** 40}`, 0],
      ]);
    }
  });

  test('answers a request with all touched cells, with none, and in parts above 8,192', () => {
    const { connect, settle } = createServiceRig();
    const client = connect();
    client.requestState();
    expect(client.take()).toMatchObject([{ seed: SEED, cells: { count: 0 } }]);
    for (const half of [0, 1])
      client.deltas(Array.from({ length: 5_000 }, (_, column) => [half, column, 0.5] as const));
    settle();
    expect(client.take().map(({ cells }) => cells.count)).toEqual([8_192, 1_808]);
    client.requestState();
    expect(client.take().map(({ cells }) => cells.count)).toEqual([8_192, 1_808]);
  });

  test('F12 sends no added field and ignores those it gets', () => {
    const { connect, settle } = createServiceRig();
    const client = connect();
    client.resend([[1, 1, 0.5, 0.9, 0.2]], 17);
    client.requestState();
    settle();
    const responses = client.take();
    expect(responses).toHaveLength(2);
    for (const response of responses) {
      expect(valuesOf(response).get('1/1')).toBe(0.5);
      const { epoch, ackedSeq, isSnapshot, snapshotEnd, activeInstances, welcome } = response;
      expect([epoch, ackedSeq, isSnapshot, snapshotEnd, activeInstances, welcome]).toEqual([
        0,
        0,
        false,
        false,
        0,
        undefined,
      ]);
    }
  });
});

describe('a named tracker', () => {
  test('F5 remembers a connected client, however many others come and go', () => {
    const { connect, settle, store } = createServiceRig();
    const client = connect();
    client.hello('api', 'stays');
    client.deltas([[0, 0, 0.25]]);
    const namespace = namespaceOf('api', CONFIG);
    for (let other = 1; other < fairLimits.clientIdsMax.value; other += 1) {
      const id = { clientId: `gone-${other}`, seq: 1 };
      void store.applyDelta(namespace, SEED, deltasOf([[0, 1, 0.25]]), id);
    }
    const passing = connect();
    passing.hello('api', 'passing');
    passing.deltas([[0, 1, 0.25]]);
    client.resend([[0, 0, 0.25]], 1);
    client.requestState();
    settle();
    expect(lastValue(client, '0/0')).toBe(0.25);
  });

  test('welcomes, applies with decay and bounds, and acknowledges with the values', () => {
    const { connect, settle, pass, service } = createServiceRig();
    const [one, two] = [connect(), connect()];
    one.hello('api', 'one');
    two.hello('api', 'two');
    expect(one.take()).toMatchObject([{ welcome: { wantView: false, maxElements: 8_192 } }]);
    pass(1_100);
    one.take();
    two.take();
    one.deltas([[2, 49, 0.5]]);
    settle();
    const epoch = one.epoch;
    expect(epoch).toBeGreaterThan(0);
    expect(one.take()).toMatchObject([{ seed: SEED, epoch, ackedSeq: 1, cells: { count: 1 } }]);
    expect(two.take()).toMatchObject([{ seed: SEED, epoch, ackedSeq: 0, cells: { count: 1 } }]);
    pass(10_000);
    two.deltas([[2, 49, 1, 0, 0.75]]);
    settle();
    expect(lastValue(one, '2/49')).toBe(0.75);
    pass(10_000);
    two.deltas([[2, 49, 0]]);
    settle();
    expect(lastValue(one, '2/49')).toBe(0.75 * Math.exp(-0.1));
    const facts = service.describe(1).namespaces.find(({ tracker }) => tracker === 'api');
    expect(facts).toMatchObject({
      streams: 2,
      instances: 2,
      cells: 1,
      highest: [{ row: 2, column: 49, probability: 0.75 * Math.exp(-0.1), ageMs: 0 }],
    });
  });

  test('F5 a sequence number is applied once per seed, and acknowledged each time', () => {
    const { connect, settle } = createServiceRig();
    const client = connect();
    client.hello('api', 'one');
    client.resend([[0, 0, 0.25]], 5);
    settle();
    client.take();
    client.hangUp();
    const again = connect();
    again.hello('api', 'one');
    again.take();
    again.resend([[0, 0, 0.25]], 5);
    settle();
    expect(again.take()).toMatchObject([{ ackedSeq: 5, cells: { count: 0 } }]);
    again.resend([[0, 0, 0.25]], 5, NEXT_SEED);
    again.resend([[0, 0, 0.25]], 6);
    settle();
    const responses = again.take();
    expect(responses.map(({ ackedSeq }) => ackedSeq)).toEqual([0, 6]);
    expect(responses.map((response) => valuesOf(response).get('0/0'))).toEqual([0.5, 0.25]);
  });

  test('a change of another epoch is not applied, and the current epoch is sent', () => {
    const { connect, settle } = createServiceRig();
    const client = connect();
    client.hello('api', 'one');
    client.take();
    const { epoch } = client;
    client.epoch = epoch + 1;
    client.deltas([[0, 0, 0.5]]);
    settle();
    expect(client.take()).toMatchObject([{ epoch, ackedSeq: 0, cells: { count: 0 } }]);
    client.requestState();
    expect(client.take()).toMatchObject([
      { isSnapshot: true, snapshotEnd: true, cells: { count: 0 } },
    ]);
  });

  test('a cell that was 0 and stays 0 is not sent, only its acknowledgement', () => {
    const { connect, settle } = createServiceRig();
    const client = connect();
    client.hello('api', 'one');
    client.take();
    client.deltas([[0, 0, -0.1]]);
    settle();
    expect(client.take()).toMatchObject([{ ackedSeq: 1, cells: { count: 0 } }]);
  });

  test('another configuration is refused by its field; steps may differ', () => {
    const { connect } = createServiceRig();
    connect().hello('api', 'one');
    const other = (config: Partial<typeof CONFIG>) => {
      const client = connect();
      client.hello('api', 'two', { config: { ...CONFIG, ...config } });
      return client.error;
    };
    expect(other({ increment: 0.1, decrement: 0.001 })).toBeUndefined();
    for (const [field, config] of [
      ['levels', { levels: 4 }],
      ['columns', { columns: 51 }],
      ['policy', { policy: 2 }],
      ['rate_per_second', { ratePerSecond: 0.02 }],
      ['window_ms', { windowMs: 2 * WINDOW_MS }],
      ['hash', { hash: 2 }],
      ['key_check', { keyCheck: 8n }],
    ] as const) {
      const error = other(config);
      expect([error?.code, error?.details['field']]).toEqual(['conflict', field]);
    }
  });

  test('a refused instance is reported once a minute, with its tracker and field', () => {
    const warn = vi.fn();
    const { connect, pass } = createServiceRig({ logger: { ...silentLogger, warn } });
    connect().hello('api', 'one');
    const refuse = () => connect().hello('api', 'two', { config: { ...CONFIG, policy: 2 } });
    refuse();
    pass(30_000);
    refuse();
    const fields = { tracker: 'api', code: 'conflict', field: 'policy' };
    const line = [
      'an instance was refused; it decides on its own',
      expect.objectContaining(fields),
    ];
    expect(warn.mock.calls).toEqual([line]);
    pass(30_000);
    refuse();
    expect(warn.mock.calls).toEqual([line, line]);
  });

  test('a refused hello is counted under its tracker if there is one, else under default', () => {
    const add = vi.fn();
    const { connect } = createServiceRig({ metrics: { ...silentMetrics, add } });
    connect().hello('api', 'one');
    connect().hello('api', 'two', { config: { ...CONFIG, policy: 2 } });
    connect().hello('other', 'three', { config: { ...CONFIG, policy: 9 } });
    connect().hello('no name', 'four');
    const rejected = add.mock.calls.filter(([name]) => /rejected_messages/.test(String(name)));
    expect(rejected.map(([, , labels]) => labels)).toEqual([
      { tracker: 'api', reason: 'conflict' },
      { tracker: 'default', reason: 'invalid-argument' },
      { tracker: 'default', reason: 'invalid-argument' },
    ]);
  });

  test('a name is free again after three windows without a stream', () => {
    const { connect, pass, service } = createServiceRig();
    const client = connect();
    client.hello('api', 'one');
    pass(4 * WINDOW_MS);
    client.hangUp();
    const retry = () => {
      const other = connect();
      other.hello('api', 'two', { config: { ...CONFIG, levels: 4 } });
      return other.error?.code;
    };
    pass(3 * WINDOW_MS - 20_000);
    expect(retry()).toBe('conflict');
    pass(40_000);
    expect(service.status().trackers).toBe(0);
    expect(retry()).toBeUndefined();
  });

  test('a second stream of a client ends the first, which is not a loss of all streams', () => {
    const { connect } = createServiceRig();
    const [first, second] = [connect(), connect()];
    first.hello('api', 'one');
    second.hello('api', 'one');
    expect(first.error?.code).toBe('fenced');
    expect(second.take()).toMatchObject([{ welcome: { wantView: false, activeInstances: 1 } }]);
  });

  test('the number of instances is sent when it changes, at most once a second', () => {
    const { connect, pass } = createServiceRig();
    const first = connect();
    first.hello('api', 'c0');
    pass(1_000);
    first.take();
    const others = ['c1', 'c2', 'c3'].map((clientId) => {
      const client = connect();
      client.hello('api', clientId);
      return client;
    });
    pass(100);
    const received = () => first.take().map(({ activeInstances }) => activeInstances);
    expect(received()).toEqual([4]);
    for (const client of others) client.hangUp();
    pass(500);
    expect(received()).toEqual([]);
    pass(500);
    expect(received()).toEqual([1]);
  });
});

describe('rounds', () => {
  test('all changes of a turn are sent together, as the same bytes for all streams without a pending acknowledgement', () => {
    const { connect, settle, pass } = createServiceRig();
    const clients = ['one', 'two', 'three'].map((clientId) => {
      const client = connect();
      client.hello('api', clientId);
      return client;
    });
    pass(1_100);
    for (const client of clients) client.bytes.length = 0;
    const [writer, ...others] = clients;
    for (let column = 0; column < 5; column += 1) writer?.deltas([[0, column, 0.5]]);
    settle();
    expect(clients.map(({ bytes }) => bytes.length)).toEqual([1, 1, 1]);
    expect(others[0]?.bytes[0]).toBe(others[1]?.bytes[0]);
    expect(writer?.take().at(-1)).toMatchObject({ ackedSeq: 5, cells: { count: 5 } });
  });

  test('with an interval there is one round in it, acknowledgements included', () => {
    const { connect, pass } = createServiceRig({ broadcastIntervalMs: 250 });
    const client = connect();
    client.hello('api', 'one');
    pass(1_100);
    client.take();
    for (let column = 0; column < 24; column += 1) {
      client.deltas([[0, column, 0.5]]);
      pass(10);
    }
    expect(client.take()).toEqual([]);
    pass(10);
    expect(client.take()).toMatchObject([{ ackedSeq: 24, cells: { count: 24 } }]);
  });
});

describe('limits of the service', () => {
  test('one stream more than allowed is ended immediately', () => {
    const { connect, service } = createServiceRig();
    const { value: streamsMax } = fairLimits.streamsMax;
    for (let index = 0; index < streamsMax; index += 1) connect();
    expect(connect().error?.code).toBe('limit-exceeded');
    expect(service.status().streams).toBe(streamsMax);
  });

  test('no tracker may have the name of the default tracker', () => {
    const { connect, service } = createServiceRig();
    const client = connect();
    client.hello('default', 'one');
    expect(client.error?.code).toBe('invalid-argument');
    expect(service.describe(1).namespaces.map(({ tracker }) => tracker)).toEqual(['default']);
  });

  test('one tracker more than allowed is refused', () => {
    const { connect } = createServiceRig();
    const { value: trackersMax } = fairLimits.trackersMax;
    for (let index = 0; index < trackersMax; index += 1) connect().hello(`t${index}`, 'one');
    const last = connect();
    last.hello('another', 'one');
    expect(last.error?.code).toBe('limit-exceeded');
  });

  test('closing ends every stream as unavailable', async () => {
    const { connect, service } = createServiceRig();
    const [plain, named] = [connect(), connect()];
    named.hello('api', 'one');
    await service.close();
    expect([plain.error?.code, named.error?.code]).toEqual(['unavailable', 'unavailable']);
    expect(connect().error?.code).toBe('unavailable');
  });
});
