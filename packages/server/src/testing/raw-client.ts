// A client that sends raw bytes, to test what no client library would send.
import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

export interface RawClient extends AsyncDisposable {
  /** Everything received so far. */
  text(): string;
  send(text: string): void;
  end(): void;
  pause(): void;
  resume(): void;
  /** Resolves when the connection is closed for any reason. */
  readonly closed: Promise<void>;
}

/** Rejects when the connection, or its TLS handshake, fails. */
export async function openRawClient(port: number, tls?: ConnectionOptions): Promise<RawClient> {
  const chunks: Buffer[] = [];
  const socket: Socket =
    tls === undefined
      ? connectTcp({ host: '127.0.0.1', port })
      : connectTls({ host: '127.0.0.1', port, ...tls });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  socket.on('data', (chunk) => chunks.push(chunk));
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once(tls === undefined ? 'connect' : 'secureConnect', resolve);
  });
  socket.on('error', () => undefined);
  return {
    text: () => Buffer.concat(chunks).toString('latin1'),
    send: (text) => void socket.write(text),
    end: () => void socket.end(),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    closed,
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await closed;
    },
  };
}
