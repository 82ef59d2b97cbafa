// One connection to a job service, over grpc-js. Messages are encoded and decoded here, by our own codec: grpc-js
// sees bytes alone.
//
// Calls on a connection that is not there fail at once, and the channel tries to connect again within a second:
// patience belongs to who calls. A connection that says nothing is asked whether it still lives.
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
} from '@grpc/grpc-js';
import { abortedError, type Clock, SynclineError } from '@syncline/kernel';
import { type GrpcTarget, grpcChannelOptions } from '@syncline/protocol';
import { jobsLimits } from '../limits.js';
import { type Call, SERVICE } from '../wire/calls.js';
import { decode, encode } from '../wire/proto-message.js';
import { errorOfStatus, notTheContract } from './status-error.js';

export interface JobChannelDeps {
  readonly clock: Clock;
}

export interface AskOptions {
  /** The job of all states in the answer. */
  readonly jobId?: string;
  readonly signal: AbortSignal | undefined;
}

export class JobChannel {
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

  /** One request and its answer. */
  ask<Request, Response>(
    call: Call<Request, Response>,
    request: Request,
    { signal, jobId = '' }: AskOptions,
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
            this.#settle(
              () => resolve(decode(call.response, bytes, { name: call.name, jobId })),
              reject,
            );
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

  /** A stream of bytes, one per frame. */
  stream<Request>(
    call: Omit<Call<Request, never>, 'response'>,
    request: Request,
  ): ClientReadableStream<Uint8Array> {
    const bytes = encode(call.request, request);
    const path = pathOf(call.name);
    return this.#client.makeServerStreamRequest(path, asBuffer, asIs, bytes, this.#metadata);
  }

  /** Bytes both ways. */
  duplex({ name }: Pick<Call<never, never>, 'name'>): ClientDuplexStream<Uint8Array, Uint8Array> {
    return this.#client.makeBidiStreamRequest(pathOf(name), asBuffer, asIs, this.#metadata);
  }

  /** Ends the calls that wait for an answer; streams are ended by who opened them. */
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

/** It was sent: whether it arrived, nobody can tell. */
function withUnknownOutcome({ code, message, cause }: SynclineError): SynclineError {
  return new SynclineError(code, message, { outcome: 'unknown', cause });
}
