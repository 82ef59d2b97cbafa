import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { networkSuite } from '../conformance/network-suite.js';
import { kernelLimits } from '../limits.js';
import { randomBelow } from '../random.js';
import { createSeededRandom } from '../seeded-random.js';
import { createSystemClock } from '../system-clock.js';
import type { Connection, Network } from './network.js';
import { DirectSockets, SocketConnection } from './socket-connection.js';
import { socketOptions, startListening } from './tcp-listen.js';
import { createTcpNetwork } from './tcp-network.js';
import { type Refusal, tcpSettings } from './tcp-settings.js';

const suiteOf = (network: Network) =>
  networkSuite(async () => ({
    network,
    clock: createSystemClock(),
    host: '127.0.0.1',
    highWaterBytes: kernelLimits.connectionHighWaterBytes.value,
    transitBytesMax: 16 * 1024 * 1024, // Linux holds up to 4 MiB unsent and some unread
    async [Symbol.asyncDispose]() {},
  }));

describe('the TCP network', () => {
  for (const { name, run } of suiteOf(createTcpNetwork())) it(name, run);
});

describe('the TCP network on a Node whose sockets do not have the fields that bypassing the stream needs', () => {
  const settings = tcpSettings({});
  const unrelated = createServer(); // which no socket has
  const listen: Network['listen'] = (address, accept) => {
    const server = createServer({ ...socketOptions(settings), pauseOnConnect: true });
    server.on('connection', (accepted) => {
      expect(new DirectSockets().bypassStream(accepted, unrelated)).toBeUndefined();
      const deps = { socket: accepted, transport: accepted, peerUris: [] };
      accept(new SocketConnection(deps, settings));
    });
    return startListening(server, address, settings);
  };
  for (const { name, run } of suiteOf({ ...createTcpNetwork(), listen })) it(name, run);
});

describe('addresses', () => {
  it('IPv6 works, and is written in brackets', async () => {
    const network = createTcpNetwork();
    const listener = await network.listen({ host: '::1', port: 0 }, (each) => each.end());
    await using connection = await network.connect(listener.address);
    expect(connection.remote).toEqual({ host: '::1', port: listener.address.port });
    await listener.close();
    await expect(network.connect(listener.address)).rejects.toThrow(/^cannot connect to \[::1\]:/);
  });

  it('an IPv4 peer of an IPv6 listener has its IPv4 address', async () => {
    const accepted: Connection[] = [];
    const network = createTcpNetwork();
    await using listener = await network.listen({ host: '::', port: 0 }, (each) => {
      accepted.push(each);
    });
    const { port } = listener.address;
    await using _connection = await network.connect({ host: '127.0.0.1', port });
    await expect.poll(() => accepted[0]?.remote.host).toBe('127.0.0.1');
    accepted[0]?.destroy();
  });

  it('a name with several addresses is refused in one error', async () => {
    const network = createTcpNetwork();
    const listener = await network.listen({ host: '127.0.0.1', port: 0 }, () => {});
    await listener.close();
    await expect(
      network.connect({ host: 'localhost', port: listener.address.port }),
    ).rejects.toMatchObject({ code: 'unavailable', details: { reason: 'refused' } });
  });

  it('an address of another machine cannot be listened on', async () => {
    const elsewhere = { host: '192.0.2.1', port: 0 }; // reserved for documentation
    await expect(createTcpNetwork().listen(elsewhere, () => {})).rejects.toMatchObject({
      code: 'unavailable',
      details: { reason: 'not-local', address: elsewhere },
    });
  });
});

describe('the writes of an accepted connection', () => {
  it.each([64, 30_000])(
    'K65 arrive in order, whenever in a turn they are made: up to %d bytes each',
    async (bytesMax) => {
      const random = createSeededRandom(`writes of ${bytesMax}`);
      const sent = createHash('sha256');
      const network = createTcpNetwork();
      const write = async (connection: Connection) => {
        for (let count = 0; count < 1_000; count += 1) {
          const chunk = random.bytes(1 + randomBelow(random, bytesMax));
          sent.update(chunk);
          const isRoomLeft = connection.write(chunk);
          const phase = randomBelow(random, 8);
          if (phase === 0) await Promise.resolve();
          else if (phase === 1) await new Promise<void>((resolve) => process.nextTick(resolve));
          else if (phase === 2) await new Promise((resolve) => setImmediate(resolve));
          else if (phase === 3 && !isRoomLeft) await connection.drained();
        }
      };
      const serve = async (connection: Connection) => {
        await Promise.all([write(connection), write(connection), write(connection)]);
        connection.end();
      };
      let serving: Promise<void> | undefined;
      await using listener = await network.listen({ host: '127.0.0.1', port: 0 }, (connection) => {
        serving = serve(connection);
      });
      await using client = await network.connect(listener.address);
      client.end(); // the other direction goes on
      const received = createHash('sha256');
      let chunksCount = 0;
      for await (const chunk of client.incoming) {
        received.update(chunk);
        chunksCount += 1;
        if (chunksCount % 8 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await serving;
      expect(received.digest('hex')).toBe(sent.digest('hex'));
      expect(await client.closed).toEqual({ kind: 'ended' });
    },
  );
});

describe('the end', () => {
  it('everything sent before the end arrives, however slowly it is read', async () => {
    const sent = new Uint8Array(1024 * 1024).fill(7);
    const accepted: Connection[] = [];
    const network = createTcpNetwork();
    await using listener = await network.listen({ host: '127.0.0.1', port: 0 }, (connection) => {
      accepted.push(connection);
      connection.write(sent);
      connection.end();
    });
    const client = connect(listener.address).pause();
    const ended = once(client, 'end');
    await expect.poll(() => accepted[0]?.unsentBytes).toBe(0);
    await expect.poll(() => client.bytesRead).toBeLessThan(sent.length);
    accepted[0]?.destroy();
    await accepted[0]?.closed;
    let arrivedBytes = 0;
    client.on('data', (chunk) => (arrivedBytes += chunk.length)).resume();
    await ended;
    expect(arrivedBytes).toBe(sent.length);
    client.destroy();
  });
});

describe('limits', () => {
  it('connections above connectionsMax are closed and reported; the others continue', async () => {
    const accepted: Connection[] = [];
    const refusals: Refusal[] = [];
    const network = createTcpNetwork({
      connectionsMax: 2,
      onRefused: (refusal) => refusals.push(refusal),
    });
    await using listener = await network.listen({ host: '127.0.0.1', port: 0 }, (connection) => {
      accepted.push(connection);
    });
    await using first = await network.connect(listener.address);
    await using _second = await network.connect(listener.address);
    await expect.poll(() => accepted.length).toBe(2);
    const third = connect(listener.address)
      .on('error', () => {})
      .resume();
    const { localPort } = await once(third, 'connect').then(() => third);
    await new Promise<void>((resolve) => void third.once('close', () => resolve()));
    expect(refusals).toEqual([
      {
        reason: 'connections-max',
        remote: { host: '127.0.0.1', port: localPort },
        error: undefined,
      },
    ]);
    accepted[0]?.destroy();
    await first.closed;
    await using _fourth = await network.connect(listener.address);
    await expect.poll(() => accepted.length).toBe(3);
    for (const connection of accepted) connection.destroy();
  });

  it('K63 a peer that sends single bytes costs a bounded number of chunks', async () => {
    const network = createTcpNetwork();
    const accepted: Connection[] = [];
    await using listener = await network.listen({ host: '127.0.0.1', port: 0 }, (connection) => {
      accepted.push(connection);
    });
    await using client = await network.connect(listener.address);
    for (let turn = 0; turn < 500; turn += 1) {
      client.write(new Uint8Array([turn & 255]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.end();
    const chunks: Uint8Array[] = [];
    for await (const chunk of accepted[0]?.incoming ?? []) chunks.push(chunk);
    expect(chunks.reduce((bytes, chunk) => bytes + chunk.length, 0)).toBe(500);
    // 64 single bytes, a few that were in flight, and the rest as the system had collected it.
    expect(chunks.length).toBeLessThan(200);
    accepted[0]?.destroy();
  });

  it('a peer that sends a lot leaves each turn of the event loop to the others', async () => {
    const network = createTcpNetwork();
    let turnBytes = 0;
    let turnBytesMax = 0;
    let arrivedBytes = 0;
    await using listener = await network.listen({ host: '127.0.0.1', port: 0 }, (connection) => {
      const take = (chunk: Uint8Array) => {
        if (turnBytes === 0)
          setImmediate(() => {
            turnBytes = 0;
          });
        turnBytes += chunk.length;
        turnBytesMax = Math.max(turnBytesMax, turnBytes);
        arrivedBytes += chunk.length;
        return undefined;
      };
      // Only after the system has collected a lot.
      setTimeout(() => connection.readBy({ take, end: () => connection.destroy() }), 100);
    });
    await using client = await network.connect(listener.address);
    const sent = new Uint8Array(8 * 1024 * 1024);
    client.write(sent);
    client.end();
    await expect.poll(() => arrivedBytes).toBe(sent.length);
    const { connectionReadAheadBytes, sharedReadBytes } = kernelLimits;
    expect(turnBytesMax).toBeLessThan(connectionReadAheadBytes.value + sharedReadBytes.value);
  });
});
