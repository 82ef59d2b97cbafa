// One connection to a job service, over grpc-js. Messages are encoded and decoded here, with Syncline's codec: grpc-js
// handles only bytes.
//
// Calls without a connection fail at once, and the channel tries to reconnect within a second: retrying is left to the
// caller. An idle connection is checked with keepalive pings.
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
} from '@grpc/grpc-js';
import { abortedError, type Clock, SynclineError } from '@syncline/kernel';
import { decode, encode } from '@syncline/kernel/wire';
import { errorFromGrpc } from '@syncline/protocol';
import { type GrpcTarget, grpcChannelOptions, textsOf } from '@syncline/protocol/grpc';
import { jobsLimits } from '../limits.js';
import { type Call, SERVICE } from '../wire/calls.js';

interface JobChannelDeps {
  readonly clock: Clock;
}

export class JobChannel {
  /** Subscriptions on this connection, counted by the pool. */
  streamsCount = 0;
  readonly #deps: JobChannelDeps;
  readonly #target: GrpcTarget;
  readonly #client: Client;
  readonly #metadata = new Metadata();
  readonly #open = new Set<() => void>();
  #isClosed = false;

  constructor(deps: JobChannelDeps, target: GrpcTarget) {
    this.#deps = deps;
    this.#target = target;
    this.#client = createClient(target);
    if (target.token !== undefined) this.#metadata.set('authorization', `Bearer ${target.token}`);
  }

  ask<Request, Response>(
    call: Call<Request, Response>,
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const deadline = this.#deps.clock.nowMs() + jobsLimits.remoteCallTimeoutMs.value;
      const sent = this.#client.makeUnaryRequest(
        pathOf(call.name),
        asBuffer,
        asIs,
        encode(call.request, request),
        this.#metadata,
        { deadline },
        (failure, bytes) => {
          this.#open.delete(cancel);
          signal?.removeEventListener('abort', cancel);
          if (failure === null && bytes !== undefined)
            this.#settle(() => resolve(decode(call.response, bytes, call)), reject);
          else if (signal?.aborted) reject(withUnknownOutcome(abortedError(call.name, signal)));
          else if (this.#isClosed) reject(withUnknownOutcome(closedError()));
          else reject(errorOfStatus(failure, this.#target));
        },
      );
      const cancel = (): void => sent.cancel();
      this.#open.add(cancel);
      signal?.addEventListener('abort', cancel);
    });
  }

  /** A stream of encoded frames. */
  stream<Request>(
    call: Omit<Call<Request, never>, 'response'>,
    request: Request,
  ): ClientReadableStream<Uint8Array> {
    const bytes = encode(call.request, request);
    const path = pathOf(call.name);
    return this.#client.makeServerStreamRequest(path, asBuffer, asIs, bytes, this.#metadata);
  }

  duplex({ name }: Pick<Call<never, never>, 'name'>): ClientDuplexStream<Uint8Array, Uint8Array> {
    return this.#client.makeBidiStreamRequest(pathOf(name), asBuffer, asIs, this.#metadata);
  }

  /** Cancels calls waiting for a reply. Streams must be ended by their openers. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#open) cancel();
    this.#client.close();
  }

  #settle(answer: () => void, reject: (error: unknown) => void): void {
    try {
      answer();
    } catch (thrown) {
      reject(thrown instanceof SynclineError ? notTheContract(this.#target, thrown) : thrown);
    }
  }
}

/**
 * Connections for subscriptions, up to 90 on each: a server accepts 100 concurrent calls per connection, and more would
 * wait silently. Writes have a separate connection.
 */
export class ChannelPool {
  readonly #deps: JobChannelDeps;
  readonly #target: GrpcTarget;
  readonly #channels = new Set<JobChannel>();

  constructor(deps: JobChannelDeps, target: GrpcTarget) {
    this.#deps = deps;
    this.#target = target;
  }

  take(): JobChannel {
    const { value: streamsMax } = jobsLimits.streamsPerChannelMax;
    const withRoom = [...this.#channels].find(({ streamsCount }) => streamsCount < streamsMax);
    const channel = withRoom ?? new JobChannel(this.#deps, this.#target);
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

function createClient(target: GrpcTarget): Client {
  const { address, tls } = target;
  const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text));
  const trust =
    tls === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert));
  const { remoteConnectPauseMs } = jobsLimits;
  return new Client(address, trust, {
    ...grpcChannelOptions(target, {
      keepaliveIntervalMs: jobsLimits.remoteKeepaliveIntervalMs.value,
      keepaliveTimeoutMs: jobsLimits.remoteKeepaliveTimeoutMs.value,
      responseBytesMax: jobsLimits.responseBytesMax.value,
    }),
    'grpc-node.flow_control_window': jobsLimits.remoteWindowBytes.value,
    'grpc.initial_reconnect_backoff_ms': remoteConnectPauseMs.value,
    'grpc.max_reconnect_backoff_ms': remoteConnectPauseMs.value,
  });
}

function pathOf(name: string): string {
  return `/${SERVICE}/${name}`;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function asIs(bytes: Buffer): Uint8Array {
  return bytes;
}

export function closedError(): SynclineError {
  return new SynclineError('closed', 'the remote job store is closed');
}

/** The request was sent, but it is unknown whether it arrived. */
function withUnknownOutcome(error: SynclineError): SynclineError {
  return error.with({ outcome: 'unknown', cause: error.cause });
}

// Converts a gRPC status to an error: the server's own error, or one about the connection.

export interface CallStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: { getMap(): Record<string, unknown> };
}

export function isCallStatus(thrown: unknown): thrown is Error & CallStatus {
  return thrown instanceof Error && 'code' in thrown && 'metadata' in thrown;
}

/** How grpc-js describes a request that was never sent. With any other text, the outcome is unknown. */
const NOT_SENT = /^No connection established|Waiting for LB pick/;

export function errorOfStatus(status: CallStatus | null, { address }: GrpcTarget): SynclineError {
  if (status === null)
    return new SynclineError('unavailable', `no reply from ${address}`, { outcome: 'unknown' });
  const { code, details } = status;
  const metadata = textsOf(status.metadata.getMap());
  const error = errorFromGrpc({ code, details, metadata });
  const isConnectionError = error.code === 'unavailable' || error.code === 'timeout';
  if (metadata['syncline-code'] !== undefined || !isConnectionError) return error;
  const what =
    error.code === 'timeout'
      ? `no reply in time from the job service at ${address}`
      : `cannot reach the job service at ${address}`;
  return new SynclineError(error.code, `${what}: ${plainReason(details)}. ${adviceOn(details)}`, {
    details: { address },
    outcome: NOT_SENT.test(details) ? 'not-applied' : error.outcome,
    cause: error,
  });
}

/** Nothing was sent, or the server itself refused the call. The words of anyone else on the way prove nothing. */
export function isRefusal({ details, metadata }: CallStatus): boolean {
  return NOT_SENT.test(details) || metadata.getMap()['syncline-code'] !== undefined;
}

/** The text from grpc-js on one line, without its standard prefix and without an empty note. */
function plainReason(details: string): string {
  return details
    .replace(/\s+/g, ' ')
    .replace(/ Resolution note: *$/, '')
    .replace(/^No connection established\. Last error: (?:Error: )?/, '')
    .replace(/[. ]+$/, '');
}

/** A server responds, but not with HTTP/2. */
const OTHER_PROTOCOL = /Protocol error/;

function adviceOn(details: string): string {
  return OTHER_PROTOCOL.test(details)
    ? 'Check the port (by default, gRPC is on 7401 and HTTP on 7400) and the TLS settings on both sides.'
    : 'Check that a server is running there, and the TLS settings on both sides.';
}

export function notTheContract({ address }: GrpcTarget, cause: SynclineError): SynclineError {
  return new SynclineError(
    'unavailable',
    `${address} responds, but not according to syncline.jobs.v1: ${cause.message}`,
    { details: { address }, retryable: false, outcome: 'unknown', cause },
  );
}

/** A read changes nothing, so its outcome is never unknown. */
export function readError(thrown: unknown): unknown {
  if (!(thrown instanceof SynclineError) || thrown.outcome === 'not-applied') return thrown;
  return thrown.with({ outcome: 'not-applied' });
}
