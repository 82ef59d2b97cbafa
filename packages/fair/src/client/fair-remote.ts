// Where a tracker shares its state: what `grpcRemote` and `redisRemote` return, and what the client drives. A
// transport carries messages and knows nothing about cells; all rules of sharing are in the client, so that
// gRPC, Redis and the simulation behave alike.
import type { SynclineError } from '@syncline/kernel';
import type { FairTrackerDeps } from '../fair-tracker.js';
import type { SyncRequest, SyncResponse } from '../wire/sync-messages.js';

/** The option `remote` of a tracker. */
export interface FairRemote {
  /** The name that instances share state under; '' with `wire: 'seed'`. */
  readonly tracker: string;
  /** `seed`: for servers that only know the original contract: no hello, no acknowledgements. */
  readonly wire: 'named' | 'seed';
  createTransport(deps: FairTrackerDeps): StateTransport;
}

export interface StateTransport {
  /** Begins a stream. Never throws and never calls back before it has returned. */
  open(listener: StateStreamListener): ClientStream;
  /** Releases the transport. Streams are cancelled before. */
  close(): Promise<void>;
}

export interface StateStreamListener {
  /** The message is valid during the call. */
  onMessage(response: SyncResponse): void;
  /** The stream can take more, after `send` returned false. */
  onDrain(): void;
  /** The stream ended. Called once, and nothing after it. Undefined: it ended cleanly. */
  onEnd(error: SynclineError | undefined): void;
}

export interface ClientStream {
  /** Always accepts the request; its columns may change afterwards. False: wait for `onDrain`. */
  send(request: SyncRequest): boolean;
  /** Ends our side: what was sent still arrives. */
  end(): void;
  /** Drops the stream. The listener receives nothing more. */
  cancel(): void;
}
