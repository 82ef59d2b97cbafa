// Unread subscriptions over bare HTTP/2: unread bytes stay on the wire, while a gRPC client would buffer some
// of them.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { SERVICE, type SubscribeRequest } from '@syncline/jobs/grpc';
import { encodeSubscribe } from './jobs-raw-client.js';

/** Fewer than a server accepts on one connection. */
const STREAMS_PER_CONNECTION = 95;

export class UnreadStreams implements Disposable {
  readonly #address: string;
  readonly #sessions: ClientHttp2Session[] = [];
  readonly #streams: ClientHttp2Stream[] = [];
  readonly #statuses: number[] = [];

  constructor(address: string) {
    this.#address = address;
  }

  /** The status of each stream that was refused. */
  get refusals(): readonly number[] {
    return this.#statuses;
  }

  /** Resolves when the server has accepted or refused each of them. */
  async open(count: number, jobId: string, more?: Partial<SubscribeRequest>): Promise<void> {
    const answers = Array.from({ length: count }, () => this.#openOne(jobId, more));
    await Promise.all(answers);
  }

  /** Reads one of them from now on; returns how many bytes have arrived. */
  read(index: number): () => number {
    let bytesCount = 0;
    this.#streams[index]?.on('data', (chunk: Uint8Array) => {
      bytesCount += chunk.length;
    });
    return () => bytesCount;
  }

  /** Abandons one, in the middle of its data. */
  abandon(index: number): void {
    this.#streams[index]?.close(constants.NGHTTP2_CANCEL);
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions) session.destroy();
  }

  #openOne(jobId: string, more?: Partial<SubscribeRequest>): Promise<void> {
    const stream = this.#session().request({
      ':method': 'POST',
      ':path': `/${SERVICE}/Subscribe`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    this.#streams.push(stream);
    stream.on('error', () => undefined); // it ends with its connection
    const request = encodeSubscribe(jobId, more);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(request.length, 1);
    stream.end(Buffer.concat([head, request]));
    return new Promise((resolve) => {
      stream.once('response', (headers) => {
        const status = headers['grpc-status']; // immediately: it was refused without a stream
        if (status !== undefined) this.#statuses.push(Number(status));
        resolve();
      });
      stream.once('trailers', (headers: IncomingHttpHeaders) =>
        this.#statuses.push(Number(headers['grpc-status'])),
      );
      stream.once('close', resolve);
    });
  }

  #session(): ClientHttp2Session {
    const last = this.#sessions.at(-1);
    const isFull = this.#streams.length % STREAMS_PER_CONNECTION === 0;
    if (last !== undefined && !isFull) return last;
    const session = connect(`http://${this.#address}`);
    session.on('error', () => undefined);
    this.#sessions.push(session);
    return session;
  }
}
