// Shared by the network cases: a listener and the two ends of one connection to it.
import assert from 'node:assert/strict';
import type { Clock } from '../clock.js';
import type { Connection, Listener, Network } from '../network/network.js';

export interface NetworkSubject {
  readonly network: Network;
  /** The clock that the network uses. */
  readonly clock: Clock;
  /** Where a case may listen, on ports that the network chooses. */
  readonly host: string;
  readonly highWaterBytes: number;
  /**
   * Bytes that may be buffered between a writer and a reader that does not pull: by the operating system on
   * both sides, and by reading ahead.
   */
  readonly transitBytesMax: number;
}

export interface NetworkPair extends AsyncDisposable {
  readonly listener: Listener;
  /** The end that connected. */
  readonly client: Connection;
  /** The end that was accepted. */
  readonly server: Connection;
}

export async function openPair({ network, host }: NetworkSubject): Promise<NetworkPair> {
  const accepted: Connection[] = [];
  let wake: () => void = () => {};
  const listener = await network.listen({ host, port: 0 }, (connection) => {
    accepted.push(connection);
    wake();
  });
  const client = await network.connect(listener.address);
  if (accepted.length === 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  const server = accepted[0];
  assert.ok(server);
  return {
    listener,
    client,
    server,
    async [Symbol.asyncDispose]() {
      await Promise.all([listener.close(), client[Symbol.asyncDispose]()]);
      await Promise.all(accepted.map((connection) => connection[Symbol.asyncDispose]()));
    },
  };
}

/** Everything until the peer's end. */
export async function readAll(connection: Connection): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of connection.incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The first `count` bytes; what arrived with them is dropped, and reading stops there. */
export async function readBytes(connection: Connection, count: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of connection.incoming) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= count) break;
  }
  return Buffer.concat(chunks).subarray(0, count);
}

/** Writes with backpressure: waits for a drain whenever the connection asks for it. */
export async function writeAll(
  connection: Connection,
  chunks: Iterable<Uint8Array>,
): Promise<void> {
  for (const chunk of chunks) if (!connection.write(chunk)) await connection.drained();
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
