// Cases of the network suite: transfer and backpressure.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Connection } from '../network/network.js';
import { randomBelow } from '../random.js';
import { createSeededRandom } from '../seeded-random.js';
import {
  type NetworkSubject,
  openPair,
  readAll,
  readBytes,
  utf8,
  writeAll,
} from './network-pair.js';

const MIB = 1024 * 1024;

export const networkTransferCases = {
  'K65 bytes arrive in both directions': bytesArriveInBothDirections,
  'K65 16 MiB split at random arrive completely and in order': largeTransferArrivesWhole,
  'K65 many connections do not mix their bytes': connectionsDoNotMix,
  'both ends know their own and the remote address': endsKnowAddresses,
  'K66 end sends what is unsent': endSendsWhatIsUnsent,
  'K63 a reader that does not pull stops the writer': stalledReaderStopsWriter,
  'K63 a stopped writer continues when the reader pulls': stoppedWriterGoesOn,
  'K65 chunks arrive unchanged in a handler': handedChunksAreTheSame,
  'K63 a handler can stop the writer, too': handedReaderStopsWriter,
  'leaving the loop early leaves the connection open': leavingLoopKeepsConnection,
  'a connection has one reader': connectionHasOneReader,
} as const;

async function bytesArriveInBothDirections(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  pair.client.write(utf8('ping'));
  pair.client.write(new Uint8Array(0));
  assert.deepEqual(text(await readBytes(pair.server, 4)), 'ping');
  pair.server.write(utf8('po'));
  pair.server.write(utf8('ng'));
  assert.deepEqual(text(await readBytes(pair.client, 4)), 'pong');
}

async function largeTransferArrivesWhole(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  const random = createSeededRandom('large transfer');
  const sent = createHash('sha256');
  function* chunks(): Generator<Uint8Array> {
    for (let leftBytes = 16 * MIB; leftBytes > 0; ) {
      const chunk = random.bytes(Math.min(1 + randomBelow(random, 256 * 1024), leftBytes));
      leftBytes -= chunk.length;
      sent.update(chunk);
      yield chunk;
    }
  }
  const received = createHash('sha256');
  const reading = (async () => {
    for await (const chunk of pair.server.incoming) received.update(chunk);
  })();
  await writeAll(pair.client, chunks());
  pair.client.end();
  await reading;
  assert.equal(received.digest('hex'), sent.digest('hex'));
}

async function connectionsDoNotMix({ network, host }: NetworkSubject): Promise<void> {
  const echo = async (connection: Connection) => {
    for await (const chunk of connection.incoming) connection.write(chunk);
    connection.end();
  };
  await using listener = await network.listen({ host, port: 0 }, (connection) => {
    void echo(connection);
  });
  const opened: Connection[] = [];
  while (opened.length < 50) opened.push(await network.connect(listener.address));
  const talk = async (client: Connection, index: number) => {
    await using connection = client;
    const said = `connection ${index} `.repeat(1_000);
    connection.write(utf8(said));
    connection.end();
    assert.equal(text(await readAll(connection)), said);
  };
  await Promise.all(opened.map(talk));
}

async function endsKnowAddresses(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  assert.ok(pair.listener.address.port > 0, 'port 0 is replaced by the chosen port');
  assert.deepEqual(pair.client.remote, pair.listener.address);
  assert.deepEqual(pair.server.local, pair.listener.address);
  assert.deepEqual(pair.server.remote, pair.client.local);
}

async function endSendsWhatIsUnsent(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  const chunk = new Uint8Array(MIB).fill(7);
  for (let count = 0; count < 4; count += 1) pair.client.write(chunk); // although it should wait
  pair.client.end();
  const received = await readAll(pair.server);
  assert.equal(received.length, 4 * MIB);
  assert.ok(received.every((byte) => byte === 7));
}

/** Writes until a drain takes longer than the clock allows; returns how many bytes were accepted. */
async function writeUntilStopped(
  { clock, highWaterBytes, transitBytesMax }: NetworkSubject,
  writer: Connection,
): Promise<number> {
  const chunk = new Uint8Array(16 * 1024);
  for (let takenBytes = 0; ; ) {
    const mayGoOn = writer.write(chunk);
    takenBytes += chunk.length;
    assert.equal(mayGoOn, writer.unsentBytes <= highWaterBytes);
    assert.ok(writer.unsentBytes <= highWaterBytes + chunk.length, `${writer.unsentBytes} unsent`);
    assert.ok(takenBytes <= highWaterBytes + transitBytesMax, `${takenBytes} taken, none read`);
    if (mayGoOn) continue;
    const stopped = new AbortController();
    const timer = clock.setTimer(300, () => stopped.abort());
    const drained = writer.drained(stopped.signal);
    const isStopped = await drained.then(
      () => false,
      (error: unknown) => {
        assert.equal((error as { code?: unknown }).code, 'aborted');
        return true;
      },
    );
    timer.cancel();
    if (isStopped) return takenBytes;
  }
}

async function stalledReaderStopsWriter(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  await writeUntilStopped(subject, pair.client);
  assert.ok(pair.client.unsentBytes > subject.highWaterBytes);
  assert.equal(pair.client.write(new Uint8Array(0)), false);
}

async function stoppedWriterGoesOn(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  const takenBytes = await writeUntilStopped(subject, pair.client);
  const reading = readAll(pair.server);
  await pair.client.drained();
  assert.ok(pair.client.unsentBytes <= subject.highWaterBytes);
  pair.client.write(utf8('more'));
  pair.client.end();
  assert.equal((await reading).length, takenBytes + 4);
}

async function handedChunksAreTheSame(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  const random = createSeededRandom('handed over');
  const chunks = Array.from({ length: 50 }, () => random.bytes(1 + randomBelow(random, 65_536)));
  const received: Uint8Array[] = [];
  const ended = new Promise<void>((resolve) => {
    pair.server.readBy({
      take(chunk) {
        received.push(chunk);
        return received.length % 3 === 0 ? subject.clock.sleep(1) : undefined;
      },
      end: resolve,
    });
  });
  await writeAll(pair.client, chunks);
  pair.client.end();
  await ended;
  assert.ok(Buffer.concat(received).equals(Buffer.concat(chunks)));
}

async function handedReaderStopsWriter(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  let goOn: () => void = () => {};
  let takenBytes = 0;
  const ended = new Promise<void>((resolve) => {
    pair.server.readBy({
      take(chunk) {
        takenBytes += chunk.length;
        if (takenBytes > chunk.length) return undefined; // only the first one asks to wait
        return new Promise((go) => {
          goOn = go;
        });
      },
      end: resolve,
    });
  });
  const writtenBytes = await writeUntilStopped(subject, pair.client);
  assert.ok(takenBytes < writtenBytes);
  goOn();
  await pair.client.drained();
  pair.client.end();
  await ended;
  assert.equal(takenBytes, writtenBytes);
}

async function leavingLoopKeepsConnection(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  pair.client.write(utf8('question'));
  await readBytes(pair.server, 8);
  pair.server.write(utf8('answer'));
  assert.equal(text(await readBytes(pair.client, 6)), 'answer');
}

async function connectionHasOneReader(subject: NetworkSubject): Promise<void> {
  await using pair = await openPair(subject);
  pair.client.incoming[Symbol.asyncIterator]();
  assert.throws(() => pair.client.incoming[Symbol.asyncIterator](), /one reader/);
  const reader = { take: () => undefined, end: () => undefined };
  assert.throws(() => pair.client.readBy(reader), /one reader/);
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
