// A remote in the same process: messages are encoded, passed to a state service and decoded, in order and at
// the end of the turn in which they are sent. With a stopped clock everything settles before time moves.
import type { Clock } from '@syncline/kernel';
import type {
  ClientStream,
  FairRemote,
  StateStreamListener,
  StateTransport,
} from '../client/fair-remote.js';
import type { StateStream, StreamSink } from '../state/stream-sink.js';
import { decodeSyncResponse, encodeSyncRequest } from '../wire/sync-codec.js';
import type { SyncRequest } from '../wire/sync-messages.js';

/** A StateService, or what stands for one. */
export interface LoopbackService {
  connect(sink: StreamSink): StateStream;
}

export interface LoopbackRemoteOptions {
  /** The name that trackers share state under. Left out: the plain contract, without a name. */
  readonly tracker?: string;
}

export function createLoopbackRemote(
  service: LoopbackService,
  { tracker = '' }: LoopbackRemoteOptions = {},
): FairRemote {
  return {
    tracker,
    wire: tracker === '' ? 'seed' : 'named',
    createTransport: ({ clock }): StateTransport => ({
      open: (listener) => new LoopbackStream({ clock, listener, service }),
      close: async () => {},
    }),
  };
}

interface LoopbackStreamDeps {
  readonly clock: Clock;
  readonly listener: StateStreamListener;
  readonly service: LoopbackService;
}

class LoopbackStream implements ClientStream {
  readonly #deps: LoopbackStreamDeps;
  readonly #served: StateStream;
  #isOver = false;

  constructor(deps: LoopbackStreamDeps) {
    this.#deps = deps;
    this.#served = deps.service.connect({
      write: (message) => {
        const bytes = message.slice(); // its writer may reuse the buffer
        this.#later(() => deps.listener.onMessage(decodeSyncResponse(bytes)));
        return true;
      },
      end: (error) => this.#later(() => this.#finish(() => deps.listener.onEnd(error))),
    });
  }

  send(request: SyncRequest): boolean {
    const bytes = encodeSyncRequest(request);
    this.#later(() => void this.#served.receive(bytes));
    return true;
  }

  end(): void {
    this.#later(() => this.#finish(() => this.#deps.listener.onEnd(undefined)));
  }

  cancel(): void {
    this.#finish(() => {});
  }

  #later(deliver: () => void): void {
    this.#deps.clock.defer(() => {
      if (!this.#isOver) deliver();
    });
  }

  #finish(tell: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#served.closed();
    tell();
  }
}
