// Simulated RESP connections: disconnects, backpressure, idle timeouts, limits and draining.
import { type Connection, silentMetrics } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { GuessBudget } from '../auth/guess-budget.js';
import { LimitWatch } from '../limit-watch.js';
import { serverLimits } from '../limits.js';
import { createEchoSession } from '../testing/echo-session.js';
import { openRespListener, type RespListenerOptions } from './resp-listener.js';
import type { RespPeer, RespSession, RespSink } from './resp-session.js';

async function listen(
  world: SimulatedBody,
  options: Partial<RespListenerOptions> = {},
  createSession: (wait: () => Promise<void>, peer: RespPeer) => RespSession = createEchoSession,
) {
  const waiting: (() => void)[] = [];
  const wait = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  let sessions = 0;
  const { clock, logger, network } = world;
  const limits = new LimitWatch({ clock, logger, metrics: silentMetrics });
  const listener = await openRespListener(
    {
      clock,
      logger,
      metrics: silentMetrics,
      limits,
      guesses: new GuessBudget({ clock, logger, limits }),
      createNetwork: () => network,
      sessions: {
        connect: (peer) => {
          sessions += 1;
          return createSession(wait, peer);
        },
      },
    },
    { address: { host: 'test', port: 7402 }, connectionsMax: 10, idleTimeoutMs: 0, ...options },
  );
  const dial = () => network.connect({ host: 'test', port: listener.address.port });
  return { listener, dial, waiting, limits, sessions: () => sessions };
}

/** Writes `count` replies without a request, each when there is room, then ends. */
function createWriter(count: number, next: () => Uint8Array): RespSession {
  const write = async (sink: RespSink): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      if (!sink.write(next())) await sink.drained();
    }
    sink.end();
  };
  return {
    push: () => undefined,
    writeTo: (sink) => void write(sink).catch(() => undefined),
    close: () => undefined,
  };
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Everything received until the other side ends. */
async function readAll(connection: Connection): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of connection.incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('latin1');
}

async function readSome(reader: AsyncIterator<Uint8Array>): Promise<string> {
  const next = await reader.next();
  return next.done === true ? '' : Buffer.from(next.value).toString('latin1');
}

test('bytes are echoed, and QUIT ends the connection after the last one', () =>
  runInSimulation('quit', async (world) => {
    const { dial } = await listen(world);
    const client = await dial();
    const reader = client.incoming[Symbol.asyncIterator]();
    client.write(bytes('hello'));
    expect(await readSome(reader)).toBe('hello');
    client.write(bytes('QUIT'));
    expect(await readSome(reader)).toBe('QUIT');
    expect((await reader.next()).done).toBe(true);
    client.end();
    expect(await client.closed).toEqual({ kind: 'ended' });
  }));

test('a client that half-closes its connection still gets its replies', () =>
  runInSimulation('half-close', async (world) => {
    const { dial } = await listen(world);
    const client = await dial();
    client.write(bytes('last words'));
    client.end();
    expect(await readAll(client)).toBe('last words');
  }));

test('while a session waits, nothing more is read from its client', () =>
  runInSimulation('backpressure', async (world) => {
    const { dial, waiting } = await listen(world);
    const client = await dial();
    client.write(bytes('WAIT'));
    await world.clock.sleep(1_000);
    let hasRoom = true;
    let sentBytes = 0;
    for (; hasRoom && sentBytes < 64 * 1024 * 1024; sentBytes += 65_536) {
      hasRoom = client.write(new Uint8Array(65_536));
      await world.clock.sleep(10);
    }
    expect(sentBytes).toBeLessThan(4 * 1024 * 1024);
    expect(waiting).toHaveLength(1);
    client.destroy();
  }));

test('a client that does not read costs one write buffer, not all of its replies', () =>
  runInSimulation('slow reader', async (world) => {
    let written = 0;
    const session = createWriter(20, () => {
      written += 1;
      return new Uint8Array(1024 * 1024);
    });
    const { dial } = await listen(world, {}, () => session);
    const client = await dial();
    await world.clock.sleep(30_000);
    expect(written).toBeLessThan(5);
    let arrivedBytes = 0;
    for await (const chunk of client.incoming) arrivedBytes += chunk.length;
    expect(arrivedBytes).toBe(20 * 1024 * 1024);
    client.end();
  }));

test('a client that reads none of its replies is disconnected, one that reads slowly is not', () =>
  runInSimulation('stalled', async (world) => {
    const createSession = () =>
      createWriter(Number.POSITIVE_INFINITY, () => new Uint8Array(4 * 1024 * 1024));
    const { dial } = await listen(world, {}, createSession);
    const [stalled, slow] = [await dial(), await dial()];
    const startMs = world.clock.monotonicMs();
    const cutAfterMs = stalled.closed.then(() => world.clock.monotonicMs() - startMs);
    const reader = slow.incoming[Symbol.asyncIterator]();
    for (let beat = 0; beat < 10; beat += 1) {
      for (let taken = 0; taken < 512 * 1024; ) taken += (await reader.next()).value?.length ?? 0;
      await world.clock.sleep(30_000);
    }
    expect(await cutAfterMs).toBeGreaterThan(59_000);
    expect(await cutAfterMs).toBeLessThan(65_000);
    expect((await reader.next()).done).toBe(false);
    slow.destroy();
  }));

test('a client that reads its last replies slowly gets them all; one that reads nothing is disconnected', () =>
  runInSimulation('last replies', async (world) => {
    const replyBytes = 8 * 1024 * 1024;
    const { dial } = await listen(world, {}, () => ({
      push: () => undefined,
      writeTo: (sink) => {
        sink.write(new Uint8Array(replyBytes));
        sink.end();
      },
      close: () => undefined,
    }));
    const [slow, stalled] = [await dial(), await dial()];
    const startMs = world.clock.monotonicMs();
    const cutAfterMs = stalled.closed.then(() => world.clock.monotonicMs() - startMs);
    let arrivedBytes = 0;
    let pauseAt = 0;
    for await (const chunk of slow.incoming) {
      arrivedBytes += chunk.length;
      if (arrivedBytes < pauseAt) continue;
      pauseAt = arrivedBytes + 512 * 1024;
      await world.clock.sleep(500);
    }
    expect(world.clock.monotonicMs() - startMs).toBeGreaterThan(5_000);
    expect(arrivedBytes).toBe(replyBytes);
    slow.end();
    expect(await cutAfterMs).toBeLessThan(65_000);
  }));

test('a waiting session is notified when its client disconnects, and delays nothing', () =>
  runInSimulation('gone', async (world) => {
    const journal: string[] = [];
    const createSession = (_wait: unknown, { gone }: RespPeer): RespSession => ({
      push: () => new Promise(() => gone.addEventListener('abort', () => journal.push('gone'))),
      writeTo: () => undefined,
      close: () => void journal.push('close'),
    });
    const { dial, listener } = await listen(world, {}, createSession);
    const client = await dial();
    client.write(bytes('WAIT 1 0'));
    await world.clock.sleep(1_000);
    expect(journal).toEqual([]);
    client.destroy();
    await world.clock.sleep(1_000);
    expect(journal.toSorted()).toEqual(['close', 'gone']);
    await listener.drain(new AbortController().signal);
    expect(journal).toHaveLength(2);
  }));

test('a session knows the address of its client, and can disconnect it', () =>
  runInSimulation('cut', async (world) => {
    const peers: RespPeer[] = [];
    const { dial } = await listen(world, {}, (wait, peer) => {
      peers.push(peer);
      return createEchoSession(wait);
    });
    const client = await dial();
    await world.clock.sleep(1_000);
    expect(peers).toMatchObject([{ address: client.local, loopback: false }]);
    expect(peers[0]?.gone.aborted).toBe(false);
    peers[0]?.cut();
    expect((await client.closed).kind).toBe('reset');
    expect(peers[0]?.gone.aborted).toBe(true);
    peers[0]?.cut(); // a second call has no effect
  }));

test('a session that cannot be created only affects its own connection', () =>
  runInSimulation('no session', async (world) => {
    let isBroken = true;
    const { dial } = await listen(world, {}, (wait) => {
      if (isBroken) throw new TypeError('secret insides');
      return createEchoSession(wait);
    });
    expect((await (await dial()).closed).kind).toBe('reset');
    isBroken = false;
    const good = await dial();
    good.write(bytes('QUIT'));
    expect(await readAll(good)).toBe('QUIT');
    good.end();
  }));

test('an idle connection is closed after the idle timeout, a busy one is not', () =>
  runInSimulation('idle', async (world) => {
    const { dial } = await listen(world, { idleTimeoutMs: 60_000 });
    const [silent, busy] = [await dial(), await dial()];
    const reader = busy.incoming[Symbol.asyncIterator]();
    let closedAtMs = 0;
    void silent.closed.then(() => {
      closedAtMs = world.clock.monotonicMs();
    });
    const startMs = world.clock.monotonicMs();
    for (let beat = 0; beat < 9; beat += 1) {
      await world.clock.sleep(10_000);
      busy.write(bytes('x'));
      expect(await readSome(reader)).toBe('x');
    }
    expect(closedAtMs - startMs).toBeGreaterThanOrEqual(59_000);
    expect(closedAtMs - startMs).toBeLessThan(62_000);
    busy.destroy();
  }));

test('a connection above the limit gets the same error as from Redis', () =>
  runInSimulation('limit', async (world) => {
    const { dial, sessions } = await listen(world, { connectionsMax: 2 });
    const [one, two] = [await dial(), await dial()];
    const three = await dial();
    three.write(bytes('PING'));
    expect(await readAll(three)).toBe('-ERR max number of clients reached\r\n');
    three.end();
    expect(sessions()).toBe(2);
    one.destroy();
    await world.clock.sleep(5_000);
    const four = await dial();
    four.write(bytes('QUIT'));
    expect(await readAll(four)).toBe('QUIT');
    four.end();
    two.destroy();
  }));

test('a refused client that does not close its connection is disconnected', () =>
  runInSimulation('linger', async (world) => {
    const { dial } = await listen(world, { connectionsMax: 1 });
    const one = await dial();
    const stubborn = await dial();
    await world.clock.sleep(3_000);
    stubborn.write(bytes('still here?'));
    expect((await stubborn.closed).kind).toBe('reset');
    one.destroy();
  }));

test('a drain answers the commands that have arrived, closes the connections and refuses new ones', () =>
  runInSimulation('drain', async (world) => {
    const { dial, listener, waiting } = await listen(world);
    const [busy, idle] = [await dial(), await dial()];
    busy.write(bytes('WAIT'));
    await world.clock.sleep(1_000);
    const grace = new AbortController();
    let isDrained = false;
    const drained = listener.drain(grace.signal).then(() => {
      isDrained = true;
    });
    expect(await readAll(idle)).toBe('');
    idle.end();
    await expect(dial()).rejects.toMatchObject({ code: 'unavailable' });
    await world.clock.sleep(1_000);
    expect(isDrained).toBe(false);
    for (const resolve of waiting) resolve();
    expect(await readAll(busy)).toBe('WAITwaited\r\n');
    busy.end();
    await drained;
  }));

test('when the grace period ends, the remaining connections are cut', () =>
  runInSimulation('force', async (world) => {
    const { dial, listener } = await listen(world);
    const client = await dial();
    client.write(bytes('WAIT'));
    await world.clock.sleep(1_000);
    const grace = new AbortController();
    const drained = listener.drain(grace.signal);
    grace.abort();
    await drained;
    expect((await client.closed).kind).toBe('reset');
  }));

test('a session that throws only affects its own connection', () =>
  runInSimulation('bug', async (world) => {
    const { dial } = await listen(world);
    const [bad, good] = [await dial(), await dial()];
    bad.write(bytes('BUG'));
    expect((await bad.closed).kind).toBe('reset');
    good.write(bytes('QUIT'));
    expect(await readAll(good)).toBe('QUIT');
    good.end();
  }));

test('an address that guesses passwords over many connections is disconnected, then blocked', async () => {
  await runInSimulation('guesses', async (world) => {
    const reply = new TextEncoder().encode('-WRONGPASS invalid username-password pair\r\n');
    const { dial, limits, sessions } = await listen(world, {}, () => createWriter(1, () => reply));
    for (let count = 0; count < 3 * serverLimits.authGuessesPerAddressMax.value; count += 1) {
      const connection = await dial();
      connection.end();
      try {
        for await (const _ of connection.incoming);
      } catch {
        // cut
      }
      connection.destroy();
    }
    expect(sessions()).toBe(serverLimits.authGuessesPerAddressMax.value);
    const reached = limits.reachedLimits().map(({ limit }) => limit);
    expect(reached, 'not the number of connections').toEqual(['authGuessesPerAddressMax']);
  });
});
