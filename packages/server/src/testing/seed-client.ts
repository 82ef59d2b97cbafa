// A third-party client of the state service, generated from the original contract alone.
//
// It re-encodes every message that it receives. If the length differs, the message had a field that is not in the
// contract.
import { fileURLToPath } from 'node:url';
import {
  Client,
  type ClientDuplexStream,
  credentials,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { until } from './until.js';

const PROTO = fileURLToPath(new URL('../../testdata/fair-state-seed.proto', import.meta.url));

export interface SeedBucket {
  readonly row_id?: string;
  readonly col_id?: string;
  readonly prob?: number;
  readonly last_update_time_ms?: string;
}

export interface SeedResponse {
  readonly seed?: string;
  readonly buckets?: readonly SeedBucket[];
}

/** 64-bit numbers are strings. */
const loaded = loadSync(PROTO, { keepCase: true, longs: String, arrays: true });
const { Sync } = loaded['fair.state.v1.StateService'] as unknown as ServiceDefinition;

export class SeedStream implements Disposable {
  readonly responses: SeedResponse[] = [];
  /** Bytes of fields that are not in the contract. */
  unknownBytes = 0;
  error: ServiceError | undefined;
  isEnded = false;
  readonly #client: Client;
  readonly call: ClientDuplexStream<unknown, SeedResponse>;

  constructor(port: number) {
    if (Sync === undefined) throw new Error('the contract has no Sync');
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    this.call = this.#client.makeBidiStreamRequest(
      Sync.path,
      (message: unknown) =>
        message instanceof Uint8Array ? Buffer.from(message) : Sync.requestSerialize(message),
      (bytes: Buffer) => this.#read(Sync, bytes),
    );
    this.call.on('data', (response: SeedResponse) => this.responses.push(response));
    this.call.on('error', (error: ServiceError) => {
      this.error = error;
    });
    this.call.on('end', () => {
      this.isEnded = true;
    });
  }

  #read(sync: ServiceDefinition[string], bytes: Buffer): SeedResponse {
    const response = sync.responseDeserialize(bytes) as SeedResponse;
    this.unknownBytes += bytes.length - sync.responseSerialize(response).length;
    return response;
  }

  /** Bytes are sent as they are. */
  send(message: unknown): void {
    this.call.write(message);
  }

  /** The error with which the server ended the stream. */
  async refusal(): Promise<ServiceError> {
    await until(() => this.error !== undefined, 'the end of the stream');
    return this.error as ServiceError;
  }

  /** The buckets of a seed, after all messages so far. */
  buckets(seed: string): Readonly<Record<string, number>> {
    const found: Record<string, number> = {};
    for (const response of this.responses.filter((one) => (one.seed ?? '0') === seed)) {
      for (const { row_id = '0', col_id = '0', prob = 0 } of response.buckets ?? [])
        found[`${row_id}/${col_id}`] = prob;
    }
    return found;
  }

  [Symbol.dispose](): void {
    this.call.cancel();
    this.#client.close();
  }
}

export function deltaUpdate(seed: string, ...deltas: readonly object[]): unknown {
  return { delta_update: { seed, deltas } };
}

export function stateRequest(seed: string): unknown {
  return { state_request: { seed } };
}
