// Streams of fair.state.v1 over grpc-js, with messages encoded and decoded here.
//
// Every stream has its own channel. A channel that lost its server waits longer and longer before it retries,
// and a connection that hangs would hang for the next stream too; the client above has its own timeouts, and
// rarely opens streams.
//
// An open stream keeps the process alive, which grpc-js does not let us change: close the tracker at the end.
import {
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
  Metadata,
  type StatusObject,
} from '@grpc/grpc-js';
import { type Clock, SynclineError, type Timer } from '@syncline/kernel';
import {
  errorOfCallStatus,
  type GrpcTarget,
  grpcBytes,
  grpcChannelOptions,
  grpcCredentials,
} from '@syncline/protocol/grpc';
import type { ClientStream, StateStreamListener, StateTransport } from '../client/fair-remote.js';
import { fairLimits } from '../limits.js';
import { decodeSyncResponse, encodeSyncRequest } from '../wire/sync-codec.js';
import type { SyncRequest } from '../wire/sync-messages.js';

export interface GrpcTransportDeps {
  readonly clock: Clock;
}

type Call = ClientDuplexStream<Uint8Array, Uint8Array>;

const SYNC = '/fair.state.v1.StateService/Sync';
const OK = 0;

export class GrpcTransport implements StateTransport {
  readonly #deps: GrpcTransportDeps;
  readonly #target: GrpcTarget;
  readonly #open = new Set<GrpcStream>();

  constructor(deps: GrpcTransportDeps, target: GrpcTarget) {
    this.#deps = deps;
    this.#target = target;
  }

  open(listener: StateStreamListener): ClientStream {
    const stream: GrpcStream = new GrpcStream(this.#deps, this.#target, {
      ...listenerOf(listener),
      onOver: () => void this.#open.delete(stream),
    });
    this.#open.add(stream);
    return stream;
  }

  async close(): Promise<void> {
    for (const stream of [...this.#open]) stream.cancel();
  }
}

interface StreamEvents extends StateStreamListener {
  onOver(): void;
}

class GrpcStream implements ClientStream {
  readonly #target: GrpcTarget;
  readonly #events: StreamEvents;
  readonly #client: Client;
  readonly #call: Call;
  readonly #connectTimer: Timer;
  #isOver = false;

  constructor({ clock }: GrpcTransportDeps, target: GrpcTarget, events: StreamEvents) {
    this.#target = target;
    this.#events = events;
    this.#client = createClient(target);
    this.#call = startCall(this.#client, target);
    this.#call.on('data', (bytes: Uint8Array) => this.#receive(bytes));
    this.#call.on('drain', () => {
      if (!this.#isOver) this.#events.onDrain();
    });
    this.#call.on('error', () => undefined); // the status has the same error
    this.#call.on('status', (status: StatusObject) => this.#ended(errorOf(status, target)));
    const { value } = fairLimits.grpcConnectTimeoutMs;
    this.#connectTimer = clock.setTimer(value, () => this.#checkConnected(), { unref: true });
  }

  send(request: SyncRequest): boolean {
    if (this.#isOver) return true;
    return this.#call.write(encodeSyncRequest(request));
  }

  end(): void {
    if (!this.#isOver) this.#call.end();
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#free();
    this.#call.cancel();
  }

  #receive(bytes: Uint8Array): void {
    if (this.#isOver) return;
    try {
      this.#events.onMessage(decodeSyncResponse(bytes));
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      this.#giveUp(notTheContract(this.#target, thrown));
    }
  }

  #checkConnected(): void {
    const isReady =
      this.#client.getChannel().getConnectivityState(false) === connectivityState.READY;
    if (!isReady) this.#giveUp(notConnected(this.#target));
  }

  #giveUp(error: SynclineError): void {
    if (this.#isOver) return;
    this.cancel();
    this.#events.onEnd(error);
  }

  #ended(error: SynclineError | undefined): void {
    if (this.#isOver) return;
    this.#free();
    this.#events.onEnd(error);
  }

  #free(): void {
    this.#isOver = true;
    this.#connectTimer.cancel();
    this.#client.close(); // the call continues to its end
    this.#events.onOver();
  }
}

/** The listener may be an object with methods of a class. */
function listenerOf(listener: StateStreamListener): StateStreamListener {
  return {
    onMessage: (response) => listener.onMessage(response),
    onDrain: () => listener.onDrain(),
    onEnd: (error) => listener.onEnd(error),
  };
}

function createClient(target: GrpcTarget): Client {
  const limits = {
    keepaliveIntervalMs: fairLimits.grpcKeepaliveIntervalMs.value,
    keepaliveTimeoutMs: fairLimits.grpcKeepaliveTimeoutMs.value,
    responseBytesMax: fairLimits.grpcResponseBytesMax.value,
  };
  const options = grpcChannelOptions(target, limits);
  return new Client(target.address, grpcCredentials(credentials, target), options);
}

function startCall(client: Client, { token }: GrpcTarget): Call {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  const { serialize, deserialize } = grpcBytes;
  return client.makeBidiStreamRequest(SYNC, serialize, deserialize, metadata);
}

function errorOf(status: StatusObject, { address }: GrpcTarget): SynclineError | undefined {
  if (status.code === OK) return undefined;
  return errorOfCallStatus(status, { service: 'the state service', address });
}

function notConnected({ address }: GrpcTarget): SynclineError {
  const { value } = fairLimits.grpcConnectTimeoutMs;
  return new SynclineError(
    'timeout',
    `no connection to the state service at ${address} within ${value} ms. Check the address and the TLS settings on both sides.`,
    { details: { address } },
  );
}

function notTheContract({ address }: GrpcTarget, cause: SynclineError): SynclineError {
  return new SynclineError(
    'unavailable',
    `${address} responds, but not according to fair.state.v1: ${cause.message}`,
    { details: { address }, cause },
  );
}
