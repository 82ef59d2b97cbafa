// Two state services over one Redis: clients of both see one state, and may switch between them.
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { type RedisServer, startRedis } from '@syncline/testkit';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { deltasOf, listCells } from '../conformance/store-samples.js';
import { StateService } from '../state/state-service.js';
import { decodeSyncResponse, encodeSyncRequest } from '../wire/sync-codec.js';
import { type SyncRequest, WIRE_HASH, WIRE_POLICY } from '../wire/sync-messages.js';
import { createRedisFairStore } from './redis-fair-store.js';

const WAIT = { timeout: 60_000, interval: 5 };
/** No new window begins during the test. */
const WINDOW_MS = 86_400_000;
const config = {
  levels: 3,
  columns: 50,
  policy: WIRE_POLICY.linear,
  ratePerSecond: 0,
  windowMs: WINDOW_MS,
  hash: WIRE_HASH.keyed,
  keyCheck: 7n,
  increment: 0.04,
  decrement: 0.00004,
};
const deps = {
  clock: createSystemClock(),
  random: createSystemRandom(),
  logger: silentLogger,
  metrics: silentMetrics,
};
const seed = BigInt(Math.floor(deps.clock.nowMs() / WINDOW_MS) * WINDOW_MS);

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

function startReplica() {
  const store = createRedisFairStore({ url: redis.url }, deps);
  const service = new StateService({ ...deps, store });
  return {
    connect: (clientId: string) => connect(service, clientId),
    async [Symbol.asyncDispose]() {
      await service.close();
      await store.close();
    },
  };
}

/** A client that sends a hello and records what it receives. */
function connect(service: StateService, clientId: string) {
  const cells = new Map<string, number>();
  const received = { epoch: 0, ackedSeq: 0, instances: 0 };
  let sent = Promise.resolve();
  const stream = service.connect({
    write(message) {
      const response = decodeSyncResponse(message);
      received.epoch = response.welcome?.epoch ?? received.epoch;
      received.ackedSeq = Math.max(received.ackedSeq, response.ackedSeq);
      if (response.activeInstances > 0) received.instances = response.activeInstances;
      for (const { row, column, probability } of listCells(response.cells))
        cells.set(`${row}/${column}`, probability);
      return true;
    },
    end() {},
  });
  const send = (request: SyncRequest) => {
    sent = sent.then(() => stream.receive(encodeSyncRequest(request)));
    return sent;
  };
  void send({ kind: 'hello', tracker: 'api', clientId, config, lastEpoch: 0 });
  return {
    cells,
    received,
    change: (seq: number, amount: number) =>
      send({
        kind: 'delta-update',
        seed,
        seq,
        epoch: received.epoch,
        deltas: deltasOf({ row: 1, column: 7, amount }),
      }),
    /** Asks for all cells, as a tracker does; changes follow. */
    request: () => send({ kind: 'state-request', seed }),
    leave: () => stream.closed(),
  };
}

test('F5 a change that a client resends to another replica is applied once', async () => {
  await using first = startReplica();
  await using second = startReplica();
  const watcher = first.connect('watcher');
  await watcher.request();
  const before = first.connect('mover');
  await vi.waitFor(() => expect(before.received.epoch).toBeGreaterThan(0), WAIT);
  await before.change(1, 0.25);
  before.leave();
  const after = second.connect('mover');
  await vi.waitFor(() => expect(after.received.epoch).toBe(before.received.epoch), WAIT);
  await after.change(1, 0.25);
  await vi.waitFor(() => expect(after.received.ackedSeq).toBe(1), WAIT);
  await after.change(2, 0.25);
  await vi.waitFor(() => {
    expect(after.received.ackedSeq).toBe(2);
    expect(after.cells.get('1/7')).toBe(0.5);
    expect(watcher.cells.get('1/7')).toBe(0.5);
  }, WAIT);
});

test('clients of both replicas count, and end with the same cells', async () => {
  await using first = startReplica();
  await using second = startReplica();
  const clients = [first.connect('one'), second.connect('two')];
  await vi.waitFor(() => {
    for (const { received } of clients) expect(received.epoch).toBeGreaterThan(0);
  }, WAIT);
  const changes = clients.flatMap(({ change }, index) =>
    Array.from({ length: 60 }, (_, round) => change(round + 1, (round % 3) - 0.9 + index / 7)),
  );
  await Promise.all(changes);
  await vi.waitFor(() => {
    for (const { received } of clients) expect(received.ackedSeq).toBe(60);
    expect(clients[0]?.cells.get('1/7')).toBe(clients[1]?.cells.get('1/7'));
  }, WAIT);
  await vi.waitFor(() => {
    for (const { received } of clients) expect(received.instances).toBe(2);
  }, WAIT);
  // Sooner than one that died, which counts for 15 s.
  clients[1]?.leave();
  await vi.waitFor(() => expect(clients[0]?.received.instances).toBe(1), WAIT);
});
