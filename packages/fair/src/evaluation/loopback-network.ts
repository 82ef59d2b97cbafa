// Streams between clients and a state service in one process, over links that take time and may fail. Messages are
// encoded and decoded as over a socket, and all of it happens on the given clock: a run with faults is as repeatable
// as one without.
import { type Clock, type Random, SynclineError } from '@syncline/kernel';
import type {
  ClientStream,
  FairRemote,
  StateStreamListener,
  StateTransport,
} from '../client/fair-remote.js';
import type { StateStream, StreamSink } from '../state/stream-outbox.js';
import { decodeSyncResponse, encodeSyncRequest } from '../wire/sync-codec.js';

/** The same in both directions. */
export interface LinkQuality {
  readonly delayMs: number;
  /** The fraction of messages that are lost, or that arrive twice. */
  readonly lossRatio: number;
  readonly duplicateRatio: number;
}

/** Messages arrive at the end of the turn in which they are sent: with a stopped clock, before time moves. */
const PERFECT_LINK: LinkQuality = { delayMs: 0, lossRatio: 0, duplicateRatio: 0 };

/** A StateService, or what stands for one. */
export interface LoopbackService {
  connect(sink: StreamSink): StateStream;
}

export interface LoopbackRemoteOptions {
  /** The name that trackers share state under. Left out: the original contract, without a name. */
  readonly tracker?: string;
}

/** A remote in the same process. */
export function createLoopbackRemote(
  service: LoopbackService,
  { tracker = '' }: LoopbackRemoteOptions = {},
): FairRemote {
  return {
    tracker,
    wire: tracker === '' ? 'seed' : 'named',
    createTransport: ({ clock, random }) => {
      const accept = (sink: StreamSink) => service.connect(sink);
      return new LoopbackNetwork({ clock, random, accept }, PERFECT_LINK).transport();
    },
  };
}

export interface LoopbackDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** The service. It may be another one after an outage. */
  accept(sink: StreamSink): StateStream;
}

export class LoopbackNetwork {
  readonly #deps: LoopbackDeps;
  readonly #quality: LinkQuality;
  readonly #links = new Set<LoopbackLink>();
  #isUp = true;

  constructor(deps: LoopbackDeps, quality: LinkQuality) {
    this.#deps = deps;
    this.#quality = quality;
  }

  remote(tracker: string): FairRemote {
    return { tracker, wire: 'named', createTransport: () => this.transport() };
  }

  /** Ends all streams, on both sides, and refuses new ones until `restore`. */
  cut(): void {
    this.#isUp = false;
    for (const link of this.#links) link.break();
  }

  restore(): void {
    this.#isUp = true;
  }

  transport(): StateTransport {
    return {
      open: (listener) => this.#open(listener),
      async close() {},
    };
  }

  #open(listener: StateStreamListener): ClientStream {
    const link = new LoopbackLink({
      listener,
      carry: (deliver) => this.#carry(deliver),
      later: (deliver) => this.#after(deliver),
      onOver: () => this.#links.delete(link),
    });
    this.#links.add(link);
    this.#after(() => (this.#isUp ? link.connect(this.#deps.accept) : link.break()));
    return link;
  }

  #carry(deliver: () => void): void {
    const { lossRatio, duplicateRatio } = this.#quality;
    const { random } = this.#deps;
    if (lossRatio > 0 && random.float() < lossRatio) return;
    this.#after(deliver);
    if (duplicateRatio > 0 && random.float() < duplicateRatio) this.#after(deliver);
  }

  #after(deliver: () => void): void {
    const { clock } = this.#deps;
    const { delayMs } = this.#quality;
    if (delayMs === 0) clock.defer(deliver);
    else clock.setTimer(delayMs, deliver);
  }
}

interface LinkDeps {
  readonly listener: StateStreamListener;
  /** Delivers a message to the other side once, twice or never. */
  carry(deliver: () => void): void;
  /** The same, exactly once. */
  later(deliver: () => void): void;
  onOver(): void;
}

/** One stream. Messages that are in flight when it ends are lost. */
class LoopbackLink implements ClientStream {
  readonly #deps: LinkDeps;
  #service: StateStream | undefined;
  #isOver = false;

  constructor(deps: LinkDeps) {
    this.#deps = deps;
  }

  connect(accept: LoopbackDeps['accept']): void {
    if (this.#isOver) return;
    this.#service = accept({
      write: (message) => {
        const bytes = message.slice(); // the service may reuse its buffer
        this.#carry(() => this.#deps.listener.onMessage(decodeSyncResponse(bytes)));
        return true;
      },
      end: (error) => this.#deps.later(() => this.#finish(() => this.#deps.listener.onEnd(error))),
    });
  }

  send(request: Parameters<ClientStream['send']>[0]): boolean {
    const bytes = encodeSyncRequest(request);
    this.#carry(() => void this.#service?.receive(bytes));
    return true;
  }

  end(): void {
    this.#carry(() => this.#finish(() => this.#deps.listener.onEnd(undefined)));
  }

  cancel(): void {
    this.#finish(() => {});
  }

  break(): void {
    const error = new SynclineError('unavailable', 'the connection to the state service is lost.');
    this.#finish(() => this.#deps.listener.onEnd(error));
  }

  #carry(deliver: () => void): void {
    this.#deps.carry(() => {
      if (!this.#isOver) deliver();
    });
  }

  #finish(notify: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deps.onOver();
    this.#service?.closed();
    notify();
  }
}
