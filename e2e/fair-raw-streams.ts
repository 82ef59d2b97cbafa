// Calls of the state service with arbitrary bytes.
import { Client, type ClientDuplexStream, credentials, type ServiceError } from '@grpc/grpc-js';
import { vi } from 'vitest';
import { WAIT } from './fair-fleet.js';

export const SYNC_PATH = '/fair.state.v1.StateService/Sync';
/** The number of streams that a server accepts on one connection. */
export const HTTP2_STREAMS_MAX = 100;

export class RawStream {
  readonly call: ClientDuplexStream<Uint8Array, Uint8Array>;
  messages = 0;
  error: ServiceError | undefined;

  constructor(client: Client) {
    const pass = (bytes: Uint8Array) => Buffer.from(bytes);
    this.call = client.makeBidiStreamRequest(SYNC_PATH, pass, (bytes: Buffer) => bytes);
    this.call.on('data', () => {
      this.messages += 1;
    });
    this.call.on('error', (error: ServiceError) => {
      this.error = error;
    });
  }

  get isAnswered(): boolean {
    return this.messages > 0 || this.error !== undefined;
  }

  /** How the server ended the stream. */
  refusal(): Promise<ServiceError> {
    return vi.waitFor(() => {
      if (this.error === undefined) throw new Error('the stream is still open');
      return this.error;
    }, WAIT);
  }
}

/** Streams that are ended together. */
export class RawStreams implements Disposable {
  readonly #address: string;
  readonly #clients: Client[] = [];
  readonly #streams: RawStream[] = [];
  #sharedCount = 0;

  constructor(address: string) {
    this.#address = address;
  }

  /** A shared connection is used for as many streams as the server allows; then another one is opened. */
  open(connection: 'own connection' | 'shared connection'): RawStream {
    const isShared = connection === 'shared connection';
    const isFull = this.#sharedCount % HTTP2_STREAMS_MAX === 0;
    if (isShared) this.#sharedCount += 1;
    const last = isShared && !isFull ? this.#clients.at(-1) : undefined;
    const stream = new RawStream(last ?? this.#connect());
    this.#streams.push(stream);
    return stream;
  }

  [Symbol.dispose](): void {
    for (const { call } of this.#streams) call.cancel();
    for (const client of this.#clients) client.close();
  }

  #connect(): Client {
    const client = new Client(this.#address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
    this.#clients.push(client);
    return client;
  }
}
