// Sends a node's own updates to one other node, for ever: connects, asks what the other side has, sends
// what is missing and then what is new. Nothing is remembered over a reconnect, since only the other
// side knows what it has.
import { type Connection, SynclineError } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import type { PlantedBug } from './planted-bug.js';
import { encodeFrame, type FrameStream, readFrames } from './register-frames.js';
import type { RegisterStore } from './register-store.js';

export interface PeerSenderDeps {
  readonly ports: SimPorts;
  readonly store: RegisterStore;
}

export interface PeerSenderOptions {
  readonly host: string;
  readonly port: number;
  readonly bug: PlantedBug | undefined;
}

const RECONNECT_MS_MAX = 500;

export class PeerSender {
  readonly #deps: PeerSenderDeps;
  readonly #options: PeerSenderOptions;
  /** Only the planted bug looks at it. */
  #sentCounter: number | undefined;

  constructor(deps: PeerSenderDeps, options: PeerSenderOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async run(): Promise<never> {
    const { clock, random } = this.#deps.ports;
    for (;;) {
      await this.#runSession().catch(expectBroken);
      await clock.sleep(RECONNECT_MS_MAX * random.float());
    }
  }

  async #runSession(): Promise<void> {
    const { network, chaos, nodeName } = this.#deps.ports;
    await using connection = await network.connect(this.#options);
    connection.write(encodeFrame({ kind: 'replicate', node: nodeName }));
    const frames = readFrames(connection);
    const { value: have } = await frames.next();
    if (have?.kind !== 'have') return;
    if (have.counter > 0) chaos.probe('register/resumed');
    void destroyAtEnd(connection, frames);
    await this.#sendAfter(this.#firstCounter(have.counter), connection);
  }

  #firstCounter(haveCounter: number): number {
    const isBuggy = this.#options.bug === 'lost-update-on-reconnect';
    return isBuggy ? (this.#sentCounter ?? haveCounter) : haveCounter;
  }

  /** Ends when the connection is gone. */
  async #sendAfter(firstCounter: number, connection: Connection): Promise<void> {
    const { ports, store } = this.#deps;
    let counter = firstCounter;
    for (let isOpen = true; isOpen; ) {
      if ((store.state.applied.get(ports.nodeName) ?? 0) <= counter) {
        const closed = connection.closed.then(() => false);
        isOpen = await Promise.race([store.nextCommit().then(() => true), closed]);
        continue;
      }
      for await (const update of store.updatesAfter(ports.nodeName, counter)) {
        counter = update.counter;
        this.#sentCounter = counter;
        if (!connection.write(encodeFrame({ kind: 'update', update }))) await connection.drained();
      }
    }
  }
}

/** The other side says no more. We read on to learn when it goes. */
async function destroyAtEnd(connection: Connection, frames: FrameStream): Promise<void> {
  try {
    while ((await frames.next()).done !== true);
  } catch (error) {
    expectBroken(error);
  }
  connection.destroy();
}

/** Connections break; anything else is a bug of ours. */
export function expectBroken(error: unknown): void {
  if (!(error instanceof SynclineError)) throw error;
}
