// One connection to a job service, over grpc-js, which handles only bytes. Calls without a connection fail at once, and
// the channel tries to reconnect within a second: retrying is left to the caller.
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
} from '@grpc/grpc-js';
import { abortedError, type Clock, SynclineError } from '@syncline/kernel';
import { decode, encode } from '@syncline/kernel/wire';
import {
  errorOfCallStatus,
  type GrpcCallStatus,
  type GrpcTarget,
  grpcBytes,
  grpcChannelOptions,
  grpcCredentials,
} from '@syncline/protocol/grpc';
import { limitValues } from '../limits.js';
import { type Call, SERVICE } from '../wire/calls.js';

export type ChannelDeps = Readonly<{ clock: Clock; target: GrpcTarget }>;

const { serialize, deserialize } = grpcBytes;
const PATH = `/${SERVICE}/`;

export class JobChannel {
  /** Subscriptions on this connection, counted by the pool. */
  streamsCount = 0;
  readonly #deps: ChannelDeps;
  readonly #client: Client;
  readonly #metadata = new Metadata();
  readonly #open = new Set<() => void>();
  #isClosed = false;

  constructor(deps: ChannelDeps) {
    const { target } = deps;
    this.#deps = deps;
    const { remoteConnectPauseMs: connectPauseMs } = limitValues;
    this.#client = new Client(target.address, grpcCredentials(credentials, target), {
      ...grpcChannelOptions(target, {
        keepaliveIntervalMs: limitValues.remoteKeepaliveIntervalMs,
        keepaliveTimeoutMs: limitValues.remoteKeepaliveTimeoutMs,
        responseBytesMax: limitValues.responseBytesMax,
      }),
      'grpc-node.flow_control_window': limitValues.remoteWindowBytes,
      'grpc.initial_reconnect_backoff_ms': connectPauseMs,
      'grpc.max_reconnect_backoff_ms': connectPauseMs,
    });
    if (target.token !== undefined) this.#metadata.set('authorization', `Bearer ${target.token}`);
  }

  ask<Request, Response>(
    call: Call<Request, Response>,
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const { clock, target } = this.#deps;
    return new Promise((resolve, reject) => {
      const deadline = clock.nowMs() + limitValues.remoteCallTimeoutMs;
      const sent = this.#client.makeUnaryRequest(
        PATH + call.name,
        serialize,
        deserialize,
        encode(call.request, request),
        this.#metadata,
        { deadline },
        (failure, bytes) => {
          this.#open.delete(cancel);
          signal?.removeEventListener('abort', cancel);
          if (failure === null && bytes !== undefined) {
            try {
              resolve(decode(call.response, bytes, call));
            } catch (thrown) {
              reject(contractError(target, thrown));
            }
          } else if (signal?.aborted)
            reject(abortedError(call.name, signal).withOutcome('unknown'));
          else if (this.#isClosed) reject(closedError().withOutcome('unknown'));
          else reject(errorOfStatus(failure, target));
        },
      );
      const cancel = (): void => sent.cancel();
      this.#open.add(cancel);
      signal?.addEventListener('abort', cancel);
    });
  }

  stream<Request>(
    call: Omit<Call<Request, never>, 'response'>,
    request: Request,
  ): ClientReadableStream<Uint8Array> {
    return this.#client.makeServerStreamRequest(
      PATH + call.name,
      serialize,
      deserialize,
      encode(call.request, request),
      this.#metadata,
    );
  }

  duplex({ name }: Pick<Call<never, never>, 'name'>): ClientDuplexStream<Uint8Array, Uint8Array> {
    return this.#client.makeBidiStreamRequest(PATH + name, serialize, deserialize, this.#metadata);
  }

  /** Cancels calls waiting for a reply. Streams must be ended by their openers. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#open) cancel();
    this.#client.close();
  }
}

/**
 * Connections for subscriptions, up to 90 on each: a server accepts 100 concurrent calls per connection, and more would
 * wait silently. Writes have a separate connection.
 */
export class ChannelPool {
  readonly #deps: ChannelDeps;
  readonly #channels = new Set<JobChannel>();

  constructor(deps: ChannelDeps) {
    this.#deps = deps;
  }

  take(): JobChannel {
    const { streamsPerChannelMax: streamsMax } = limitValues;
    const withRoom = [...this.#channels].find(({ streamsCount }) => streamsCount < streamsMax);
    const channel = withRoom ?? new JobChannel(this.#deps);
    this.#channels.add(channel);
    channel.streamsCount += 1;
    return channel;
  }

  /** Closes the connection after its last stream. */
  leave(channel: JobChannel): void {
    channel.streamsCount -= 1;
    if (channel.streamsCount > 0) return;
    this.#channels.delete(channel);
    channel.close();
  }
}

export function closedError(): SynclineError {
  return new SynclineError('closed', 'the remote job store is closed');
}

export function errorOfStatus(
  status: GrpcCallStatus | null | undefined,
  { address }: GrpcTarget,
): SynclineError {
  if (status) return errorOfCallStatus(status, { service: 'the job service', address });
  return new SynclineError('unavailable', `no reply from ${address}`, { outcome: 'unknown' });
}

/** What the server sent cannot be read. */
export function contractError({ address }: GrpcTarget, thrown: unknown): SynclineError {
  const cause = SynclineError.from(thrown);
  const message = `${address} responds, but not according to syncline.jobs.v1: ${cause.message}`;
  const options = { retryable: false, outcome: 'unknown', cause } as const;
  return new SynclineError('unavailable', message, { details: { address }, ...options });
}
