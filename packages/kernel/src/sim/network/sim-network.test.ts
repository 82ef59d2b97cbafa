// The simulated network under faults. The conformance suite shows that it is a proper Network without them.
import { expect, test } from 'vitest';
import type { Connection } from '../../network/network.js';
import type { SimPorts } from '../sim-node.js';
import { Simulation } from '../simulation.js';
import { roughLink } from './link-profile.js';

const PORT = 7000;
const text = (value: string) => new TextEncoder().encode(value);

interface Pair {
  readonly simulation: Simulation;
  readonly client: Connection;
  readonly server: Connection;
  readonly portsOf: (name: string) => SimPorts;
}

/** Two machines, `a` and `b`, and a connection from the first to the second. */
async function withPair(seed: number, body: (pair: Pair) => Promise<void>): Promise<void> {
  const simulation = new Simulation({ seed });
  const booted = new Map<string, SimPorts>();
  for (const name of ['a', 'b']) {
    simulation.addNode(name, (ports) => void booted.set(name, ports)).start();
  }
  const portsOf = (name: string) => {
    const ports = booted.get(name);
    if (ports === undefined) throw new Error(`${name} has not booted`);
    return ports;
  };
  await simulation.run(async () => {
    await simulation.clock.sleep(1);
    const accepted: Connection[] = [];
    await portsOf('b').network.listen({ host: 'b', port: PORT }, (each) => accepted.push(each));
    const client = await portsOf('a').network.connect({ host: 'b', port: PORT });
    await simulation.clock.sleep(1);
    const [server] = accepted;
    if (server === undefined) throw new Error('nothing was accepted');
    await body({ simulation, client, server, portsOf });
  });
}

/** What has arrived so far, and whether the stream has ended or broken. */
function collect(connection: Connection) {
  const result = { bytes: Buffer.alloc(0), chunks: 0, end: 'open' };
  const read = async () => {
    for await (const chunk of connection.incoming) {
      result.bytes = Buffer.concat([result.bytes, chunk]);
      result.chunks += 1;
    }
  };
  read().then(
    () => {
      result.end = 'ended';
    },
    (error: { code: string; details: { reason: string } }) => {
      result.end = error.details.reason;
    },
  );
  return result;
}

const nodeOf = ({ simulation }: Pair, name: string) => {
  const node = simulation.nodes.find((each) => each.name === name);
  if (node === undefined) throw new Error(`there is no ${name}`);
  return node;
};

test('a partition holds bytes back, and they arrive once it is over, or the connection is dead', async () => {
  const ends = new Set<string>();
  for (let seed = 0; seed < 30; seed += 1) {
    await withPair(seed, async ({ simulation, client, server }) => {
      const got = collect(server);
      simulation.network.partition(['a'], ['b']);
      client.write(text('held'));
      await simulation.clock.sleep(5000);
      expect(got).toMatchObject({ chunks: 0, end: 'open' });
      simulation.network.heal();
      await simulation.clock.sleep(5000);
      expect(['', 'held']).toContain(got.bytes.toString());
      ends.add(`${got.bytes.toString()} ${got.end}`);
    });
  }
  expect(ends).toEqual(new Set(['held open', ' reset']));
});

test('each side sees the names of the other one, as with mutual TLS', () =>
  withPair(1, async ({ simulation, client, server, portsOf }) => {
    expect([client.peerUris, server.peerUris]).toEqual([[], []]);
    simulation.network.certify('a', ['syncline://test/node/1']);
    simulation.network.certify('b', ['syncline://test/node/2']);
    expect(client.peerUris).toEqual([]); // its handshake is over
    const accepted: Connection[] = [];
    const address = { host: 'b', port: PORT + 1 };
    await portsOf('b').network.listen(address, (each) => accepted.push(each));
    const again = await portsOf('a').network.connect(address);
    await simulation.clock.sleep(1);
    expect(again.peerUris).toEqual(['syncline://test/node/2']);
    expect(accepted[0]?.peerUris).toEqual(['syncline://test/node/1']);
  }));

test('a one-way partition stops one direction only', () =>
  withPair(1, async ({ simulation, client, server }) => {
    const [atServer, atClient] = [collect(server), collect(client)];
    simulation.network.block(['a'], ['b']);
    client.write(text('lost'));
    server.write(text('passes'));
    await simulation.clock.sleep(1000);
    expect(atServer.bytes.toString()).toBe('');
    expect(atClient.bytes.toString()).toBe('passes');
  }));

test('a sender without acknowledgements gives up, though its bytes have arrived', () =>
  withPair(1, async ({ simulation, client, server }) => {
    const got = collect(server);
    simulation.network.block(['b'], ['a']);
    client.write(text('arrives'));
    await simulation.clock.sleep(1000);
    expect(got.bytes.toString()).toBe('arrives');
    const closed = await client.closed;
    expect(closed).toMatchObject({ kind: 'reset', error: { details: { reason: 'timeout' } } });
    expect(simulation.nowMs).toBeGreaterThan(10_000);
    expect(got.end).toBe('open'); // half open: it was not notified
  }));

test('K85 what arrives is a prefix of what was written, and a reset can fall within a frame', async () => {
  let resets = 0;
  let wholes = 0;
  let tornFrames = 0;
  for (let seed = 0; seed < 40; seed += 1) {
    await withPair(seed, async ({ simulation, client, server }) => {
      simulation.network.adjust({ ...roughLink, resetProbability: 0.02, cutProbability: 0 });
      const got = collect(server);
      let written = '';
      for (let index = 0; index < 20; index += 1) {
        const frame = `frame ${index};`;
        if (client.write(text(frame))) written += frame;
        await simulation.clock.sleep(1);
      }
      client.end();
      await simulation.clock.sleep(60_000);
      expect(written.startsWith(got.bytes.toString())).toBe(true);
      if (got.end === 'ended') wholes += Number(got.bytes.toString() === written);
      else resets += 1;
      if (!/;$|^$/.test(got.bytes.toString())) tornFrames += 1;
    });
  }
  expect(resets + wholes).toBe(40); // an end means that all of it has arrived
  expect(resets).toBeGreaterThan(3);
  expect(wholes).toBeGreaterThan(3);
  expect(tornFrames).toBeGreaterThan(3);
});

test('connections are cut while they are sending', async () => {
  const lengths = new Set<number>();
  for (let seed = 0; seed < 20; seed += 1) {
    await withPair(seed, async ({ simulation, client, server }) => {
      const got = collect(server);
      client.write(text('0123456789'));
      simulation.network.resetConnections((from) => from === 'a');
      await simulation.clock.sleep(100);
      expect(got.end).toBe('reset');
      expect('0123456789'.startsWith(got.bytes.toString())).toBe(true);
      lengths.add(got.bytes.length);
      expect((await client.closed).kind).toBe('reset');
    });
  }
  expect(lengths.size).toBeGreaterThan(5);
});

test('the peer of a killed process sees an end or a reset, and a reset when it sends', async () => {
  const ends = new Set<string>();
  for (let seed = 0; seed < 20; seed += 1) {
    await withPair(seed, async (pair) => {
      const got = collect(pair.client);
      pair.server.write(text('last words'));
      nodeOf(pair, 'b').kill();
      await pair.simulation.clock.sleep(100);
      expect(got.bytes.toString()).toBe('last words');
      ends.add(got.end);
      pair.client.write(text('are you there?'));
      expect((await pair.client.closed).kind).toBe('reset');
    });
  }
  expect(ends).toEqual(new Set(['ended', 'reset']));
});

test('the peer of a machine without power notices nothing until it probes', () =>
  withPair(1, async (pair) => {
    const got = collect(pair.client);
    nodeOf(pair, 'b').losePower();
    await pair.simulation.clock.sleep(5000);
    expect(got.end).toBe('open');
    const startMs = pair.simulation.nowMs;
    expect(await pair.client.closed).toMatchObject({ error: { details: { reason: 'timeout' } } });
    expect(pair.simulation.nowMs - startMs).toBeLessThan(30_000); // its system probes after 30 s
  }));

test('a restarted machine does not know old connections', () =>
  withPair(1, async (pair) => {
    nodeOf(pair, 'b').losePower();
    nodeOf(pair, 'b').start();
    await pair.simulation.clock.sleep(100);
    pair.client.write(text('are you there?'));
    expect(await pair.client.closed).toMatchObject({ error: { details: { reason: 'reset' } } });
  }));

test('connect: no listener, no route, no power, no such machine', () =>
  withPair(1, async (pair) => {
    const { network } = pair.portsOf('a');
    const reasonOf = (host: string, port: number) =>
      network.connect({ host, port }).then(
        () => 'connected',
        (error: { code: string; details: { reason: string } }) => error.details.reason,
      );
    expect(await reasonOf('b', 1)).toBe('refused');
    expect(await reasonOf('nobody', 1)).toBe('unknown-host');
    pair.simulation.network.block(['b'], ['a']);
    expect(await reasonOf('b', PORT)).toBe('timeout');
    pair.simulation.network.heal();
    nodeOf(pair, 'b').losePower();
    expect(await reasonOf('b', PORT)).toBe('timeout');
  }));

test('a connect in a short partition succeeds once it is over', () =>
  withPair(1, async ({ simulation, portsOf }) => {
    simulation.network.partition(['a'], ['b']);
    const connecting = portsOf('a').network.connect({ host: 'b', port: PORT });
    await simulation.clock.sleep(1000);
    simulation.network.heal();
    const connection = await connecting;
    expect(connection.remote).toEqual({ host: 'b', port: PORT });
  }));

test('a paused reader stops its writer, and gets everything later', () =>
  withPair(1, async (pair) => {
    const { client, simulation } = pair;
    const got = collect(pair.server);
    nodeOf(pair, 'b').pause();
    const chunk = new Uint8Array(100_000).fill(1);
    let written = 0;
    while (client.write(chunk)) written += chunk.length;
    written += chunk.length;
    await simulation.clock.sleep(1000);
    expect(client.unsentBytes).toBeGreaterThan(written - 70_000);
    nodeOf(pair, 'b').resume();
    await client.drained();
    await simulation.clock.sleep(1000);
    expect(got.bytes.length).toBe(written);
  }));

test('a link can be slow in one direction only', () =>
  withPair(1, async ({ simulation, client, server }) => {
    simulation.network.adjustLink('a', 'b', { delayMs: 500 });
    const [atServer, atClient] = [collect(server), collect(client)];
    client.write(text('slow'));
    server.write(text('quick'));
    await simulation.clock.sleep(100);
    expect([atServer.bytes.length, atClient.bytes.toString()]).toEqual([0, 'quick']);
    await simulation.clock.sleep(500);
    expect(atServer.bytes.toString()).toBe('slow');
  }));

test('a connection carries no more than its bandwidth', () =>
  withPair(1, async ({ simulation, client, server }) => {
    simulation.network.adjust({ bytesPerMs: 100 });
    const got = collect(server);
    const startMs = simulation.nowMs;
    for (let count = 0; count < 10; count += 1) client.write(new Uint8Array(10_000));
    while (got.bytes.length < 100_000) await simulation.clock.sleep(10);
    expect(simulation.nowMs - startMs).toBeGreaterThanOrEqual(1000);
    expect(simulation.nowMs - startMs).toBeLessThan(1200);
  }));

test('a listener on the loopback is for its own machine', () =>
  withPair(1, async ({ portsOf }) => {
    await portsOf('b').network.listen({ host: '127.0.0.1', port: 80 }, () => {});
    await expect(portsOf('a').network.connect({ host: 'b', port: 80 })).rejects.toMatchObject({
      details: { reason: 'refused' },
    });
    await portsOf('b').network.connect({ host: 'localhost', port: 80 });
    await expect(
      portsOf('b').network.listen({ host: 'a', port: 80 }, () => {}),
    ).rejects.toMatchObject({ details: { reason: 'not-local' } });
  }));
