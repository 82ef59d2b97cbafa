import type { Connection } from '@syncline/kernel';
import { createTcpNetwork } from '@syncline/kernel/node';
import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, it } from 'vitest';
import { testkitLimits } from '../limits.js';
import { type FaultProxy, type FaultProxyOptions, startFaultProxy } from './fault-proxy.js';

const network = createTcpNetwork();
const anyPort = { host: '127.0.0.1', port: 0 };
const bytes = (text: string) => new TextEncoder().encode(text);

/** A target that echoes its input, and records its connections. */
async function startEcho() {
  const accepted: Connection[] = [];
  const listener = await network.listen(anyPort, (connection) => {
    accepted.push(connection);
    void echo(connection);
  });
  return {
    address: listener.address,
    accepted,
    async [Symbol.asyncDispose]() {
      await listener.close();
      for (const connection of accepted) connection.destroy();
    },
  };
}

async function echo(connection: Connection): Promise<void> {
  try {
    for await (const chunk of connection.incoming)
      if (!connection.write(chunk)) await connection.drained();
    connection.end();
  } catch {
    // reset, as some tests expect
  }
}

/** A client that records its incoming chunks with their arrival time. */
async function startClient(proxy: FaultProxy) {
  const connection = await network.connect(proxy.address);
  const chunks: { readonly text: string; readonly atMs: number }[] = [];
  const reading = (async () => {
    for await (const chunk of connection.incoming)
      chunks.push({ text: new TextDecoder().decode(chunk), atMs: performance.now() });
  })();
  const over = reading.then(
    () => 'ended',
    () => 'reset',
  );
  return {
    connection,
    chunks,
    /** How its reading ended. */
    over,
    text: () => chunks.map(({ text }) => text).join(''),
    send: (text: string) => connection.write(bytes(text)),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

/** Like `over`, but the reset may arrive so early that connecting fails. */
async function fateOfClient(proxy: FaultProxy): Promise<string> {
  return await startClient(proxy).then(
    ({ over }) => over,
    (error) => error.details.reason,
  );
}

async function startAll(options: FaultProxyOptions = {}) {
  const echoServer = await startEcho();
  const proxy = await startFaultProxy({ target: echoServer.address, ...options });
  const client = await startClient(proxy);
  return {
    proxy,
    client,
    accepted: echoServer.accepted,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
      await echoServer[Symbol.asyncDispose]();
    },
  };
}

/** Long enough for an unwanted byte to arrive: two round trips through the same loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('without faults', () => {
  it('passes bytes and ends in both directions, and counts them', async () => {
    await using all = await startAll();
    all.client.send('hello');
    all.client.connection.end();
    expect(await all.client.over).toBe('ended');
    expect(all.client.text()).toBe('hello');
    expect(all.proxy.passedBytes('to-target')).toBe(5);
    expect(all.proxy.passedBytes('to-client')).toBe(5);
    await expect.poll(() => all.proxy.connectionCount).toBe(0);
  });

  it('passes a reset on', async () => {
    await using all = await startAll();
    all.client.send('hello');
    await expect.poll(() => all.client.text()).toBe('hello');
    all.client.connection.destroy();
    const reason = await all.accepted[0]?.closed;
    expect(reason?.kind).toBe('reset');
  });

  it('resets a client whose target does not answer', async () => {
    const echoServer = await startEcho();
    await echoServer[Symbol.asyncDispose]();
    await using proxy = await startFaultProxy({ target: echoServer.address });
    expect(await fateOfClient(proxy)).toBe('reset');
  });

  it('can be started before its target is known', async () => {
    await using echoServer = await startEcho();
    await using proxy = await startFaultProxy();
    expect(await fateOfClient(proxy)).toBe('reset');
    proxy.setTarget(echoServer.address);
    await using client = await startClient(proxy);
    client.send('hello');
    await expect.poll(() => client.text()).toBe('hello');
  });
});

describe('latency', () => {
  it('delays one direction, while many chunks are in flight', async () => {
    await using all = await startAll();
    all.proxy.set({ latencyMs: 200 }, 'to-target');
    const startMs = performance.now();
    for (let chunk = 0; chunk < 50; chunk += 1) {
      all.client.send('x');
      await settle();
    }
    await expect.poll(() => all.client.text().length).toBe(50);
    expect(all.client.chunks[0]?.atMs).toBeGreaterThanOrEqual(startMs + 200);
    const lastMs = all.client.chunks.at(-1)?.atMs ?? 0;
    expect(lastMs - startMs).toBeLessThan(50 * 200); // not one after the other
  });

  it('follows the seed: each direction of each connection has its own draws', async () => {
    const draws = createSeededRandom(473).fork('connection 0');
    const toTargetMs = draws.fork('to-target').float() * 100;
    const toClientMs = draws.fork('to-client').float() * 100;
    expect(toTargetMs + toClientMs).toBeGreaterThan(190); // this seed is slow both ways
    await using all = await startAll({ seed: 473, faults: { jitterMs: 100 } });
    const startMs = performance.now();
    all.client.send('hello');
    await expect.poll(() => all.client.text()).toBe('hello');
    const elapsedMs = (all.client.chunks[0]?.atMs ?? 0) - startMs;
    expect(elapsedMs).toBeGreaterThanOrEqual(toTargetMs + toClientMs);
  });

  it('keeps the order of bytes under jitter', async () => {
    await using all = await startAll({ faults: { jitterMs: 20 } });
    let sent = '';
    for (let chunk = 0; chunk < 30; chunk += 1) {
      all.client.send(`${chunk},`);
      sent += `${chunk},`;
      await settle();
    }
    await expect.poll(() => all.client.text()).toBe(sent);
  });
});

it('bandwidth limits what passes in a time', async () => {
  await using all = await startAll();
  all.proxy.set({ bytesPerSecond: 100_000 }, 'to-target');
  const startMs = performance.now();
  all.client.send('x'.repeat(20_000));
  await expect.poll(() => all.client.text().length, { interval: 1 }).toBe(20_000);
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(200);
});

it('slices of one byte arrive one by one', async () => {
  await using all = await startAll();
  all.proxy.set({ sliceBytes: 1 }, 'to-client');
  all.client.send('x'.repeat(200));
  await expect.poll(() => all.client.text().length).toBe(200);
  expect(all.client.chunks.length).toBeGreaterThan(100);
});

it('holds a bounded number of bytes', async () => {
  await using all = await startAll();
  all.proxy.set({ latencyMs: 3_600_000 }, 'to-target');
  const { connection } = all.client;
  const chunk = new Uint8Array(64 * 1024);
  let takenBytes = 0;
  const stopped = new AbortController();
  const timer = setTimeout(() => stopped.abort(), 300);
  while (!stopped.signal.aborted) {
    takenBytes += chunk.length;
    if (!connection.write(chunk)) await connection.drained(stopped.signal).catch(() => {});
    expect(takenBytes).toBeLessThan(testkitLimits.faultLineBytesMax.value + 32 * 1024 * 1024);
  }
  clearTimeout(timer);
  expect(all.proxy.passedBytes('to-target')).toBe(0);
});

describe('resets', () => {
  it('now', async () => {
    await using all = await startAll();
    all.client.send('hello');
    await expect.poll(() => all.client.text()).toBe('hello');
    all.proxy.resetConnections();
    expect(await all.client.over).toBe('reset');
    expect((await all.accepted[0]?.closed)?.kind).toBe('reset');
  });

  it('after exactly n bytes, in the middle of a frame, for each connection', async () => {
    await using all = await startAll();
    all.client.send('before');
    await expect.poll(() => all.client.text()).toBe('before');
    all.proxy.set({ resetAfterBytes: 7 }, 'to-client'); // counts from here
    all.client.send('0123456789');
    expect(await all.client.over).toBe('reset');
    expect(all.client.text()).toBe('before0123456');
    await using second = await startClient(all.proxy);
    second.send('0123456789');
    expect(await second.over).toBe('reset');
    expect(second.text()).toBe('0123456');
    all.proxy.heal();
    await using third = await startClient(all.proxy);
    third.send('0123456789');
    await expect.poll(() => third.text()).toBe('0123456789');
  });

  it('at the first byte', async () => {
    await using all = await startAll({ faults: { resetAfterBytes: 0 } });
    all.client.send('x');
    expect(await all.client.over).toBe('reset');
    expect(all.proxy.passedBytes('to-target')).toBe(0);
  });
});

describe('black holes', () => {
  it('swallow one direction, and reset affected connections when they are lifted', async () => {
    await using all = await startAll();
    all.client.send('hello');
    await expect.poll(() => all.client.text()).toBe('hello');
    all.proxy.set({ blackhole: true }, 'to-client');
    all.client.send(' without answer');
    await expect.poll(() => all.proxy.passedBytes('to-target')).toBe(20);
    await settle();
    expect(all.client.text()).toBe('hello');
    all.proxy.heal();
    expect(await all.client.over).toBe('reset');
  });

  it('do not affect a connection that sent nothing in the meantime', async () => {
    await using all = await startAll();
    all.client.send('hello');
    await expect.poll(() => all.client.text()).toBe('hello');
    all.proxy.set({ blackhole: true });
    all.proxy.heal();
    all.client.send(' again');
    await expect.poll(() => all.client.text()).toBe('hello again');
  });

  it('hide that an end is gone, so that the other is half open', async () => {
    await using all = await startAll();
    all.client.send('hello');
    await expect.poll(() => all.client.text()).toBe('hello');
    all.proxy.set({ blackhole: true });
    all.client.connection.destroy();
    let isNotified = false;
    void all.accepted[0]?.closed.then(() => {
      isNotified = true;
    });
    all.accepted[0]?.write(bytes('are you there?'));
    await settle();
    expect(isNotified).toBe(false);
    all.proxy.heal();
    await expect.poll(() => isNotified).toBe(true);
  });

  it('accept new connections, which never reach the target', async () => {
    await using all = await startAll();
    all.client.send('hello');
    await expect.poll(() => all.client.text()).toBe('hello');
    all.proxy.set({ blackhole: true });
    await using second = await startClient(all.proxy);
    second.send('hello?');
    await settle();
    expect(all.accepted.length).toBe(1);
    expect(second.text()).toBe('');
    all.proxy.heal();
    expect(await second.over).toBe('reset');
  });
});

it('refuses new connections and accepts them again on the same port', async () => {
  await using all = await startAll();
  all.client.send('a');
  await expect.poll(() => all.client.text()).toBe('a');
  await all.proxy.refuseConnections();
  await expect(network.connect(all.proxy.address)).rejects.toMatchObject({
    details: { reason: 'refused' },
  });
  all.client.send('b');
  await expect.poll(() => all.client.text()).toBe('ab');
  await all.proxy.acceptConnections();
  await using second = await startClient(all.proxy);
  second.send('c');
  await expect.poll(() => second.text()).toBe('c');
});

it('leaves nothing behind when it is disposed of', async () => {
  await using echoServer = await startEcho();
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const timersBefore = timers();
  const proxy = await startFaultProxy({
    target: echoServer.address,
    faults: { latencyMs: 60_000 },
  });
  await using client = await startClient(proxy);
  client.send('on its way');
  await expect.poll(() => echoServer.accepted.length).toBe(1);
  await expect.poll(timers).toBeGreaterThan(timersBefore);
  await proxy[Symbol.asyncDispose]();
  expect(proxy.connectionCount).toBe(0);
  expect(timers()).toBeLessThanOrEqual(timersBefore);
  expect(await client.over).toBe('reset');
  await expect(network.connect(proxy.address)).rejects.toMatchObject({ code: 'unavailable' });
});
