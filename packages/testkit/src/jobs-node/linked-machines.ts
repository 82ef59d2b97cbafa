// The machines of clients, each with a link to the store's machine and back.
import type {
  MessageLink,
  SeededRandom,
  SimNode,
  SimPorts,
  Simulation,
} from '@syncline/kernel/testing';
import type { ReplyMessage, RequestMessage } from './link-messages.js';
import { LinkedStore } from './linked-store.js';

const CAPABILITIES = {
  history: 'all',
  reads: 'linearizable',
  durability: 'synced',
  lost: 'store',
} as const;

export interface LinkedMachinesDeps {
  readonly simulation: Simulation;
  readonly random: SeededRandom;
  readonly store: SimNode;
  /** Handles what arrives at the store's machine. */
  readonly receive: (message: RequestMessage) => void;
}

/** What a process on such a machine can use. */
export interface LinkedPorts {
  readonly ports: SimPorts;
  readonly store: LinkedStore;
  readonly random: SeededRandom;
}

export class LinkedMachines {
  readonly #deps: LinkedMachinesDeps;
  readonly #timeoutMs: number;
  readonly #stores = new Map<string, LinkedStore>();
  readonly #replies = new Map<string, MessageLink<ReplyMessage>>();
  #requestsCount = 0;
  #startsCount = 0;

  constructor(deps: LinkedMachinesDeps, timeoutMs: number) {
    this.#deps = deps;
    this.#timeoutMs = timeoutMs;
  }

  reply(client: string, message: ReplyMessage): void {
    this.#replies.get(client)?.send(message);
  }

  add(name: string, run: (ports: LinkedPorts) => void): SimNode {
    const { simulation, store: storeNode, receive } = this.#deps;
    const node = simulation.addNode(name, (ports) => run(this.#connect(ports, requests)));
    const requests = simulation.messageLink<RequestMessage>(node, storeNode, receive);
    const replies = simulation.messageLink<ReplyMessage>(storeNode, node, (message) =>
      this.#stores.get(name)?.received(message),
    );
    this.#replies.set(name, replies);
    return node;
  }

  #connect(ports: SimPorts, requests: MessageLink<RequestMessage>): LinkedPorts {
    const { clock, nodeName: client } = ports;
    const send = (request: RequestMessage['request']) => {
      this.#requestsCount += 1;
      requests.send({ id: this.#requestsCount, client, request });
      return this.#requestsCount;
    };
    const store = new LinkedStore(
      { client, clock, send, capabilities: CAPABILITIES },
      this.#timeoutMs,
    );
    this.#stores.set(client, store);
    this.#startsCount += 1;
    return { ports, store, random: this.#deps.random.fork(`start/${this.#startsCount}`) };
  }
}
