// A remote for trackers in the simulation: encoded messages over the simulated network.
//
// An abandoned stream is not always gone: sometimes the connection lingers, as when a reset was lost, so that
// the service serves two streams of one client for a while.
import type {
  ClientStream,
  FairRemote,
  StateStreamListener,
  StateTransport,
  SyncRequest,
  SyncResponse,
} from '@syncline/fair';
import { decodeSyncResponse, encodeSyncRequest } from '@syncline/fair/testing';
import { SynclineError } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import { plantInTransport } from './bugs/plant-in-transport.js';
import { type FairCluster, SERVICE_NODE, SERVICE_PORT } from './fair-cluster.js';
import type { ClientPlan } from './fair-plan.js';
import { MessageStream } from './message-stream.js';

const LINGER_MS_MAX = 8_000;
/** How many windows back a request may go that no real tracker would make. */
const OLD_WINDOWS_MAX = 6;

export interface SimRemoteDeps {
  readonly ports: SimPorts;
  readonly cluster: FairCluster;
  /** Receives messages before the tracker does. */
  onReceived(response: SyncResponse, delayMs: number): void;
  /** Called after the tracker has processed them. */
  onTaken(): void;
}

export function createSimRemote(deps: SimRemoteDeps, plan: ClientPlan): FairRemote {
  const transport: StateTransport = {
    open: (listener) => new SimStream(deps, plan, listener),
    async close() {},
  };
  return {
    tracker: plan.tracker,
    wire: plan.tracker === '' ? 'seed' : 'named',
    createTransport: () => plantInTransport(transport, deps.cluster.bug),
  };
}

class SimStream implements ClientStream {
  readonly #deps: SimRemoteDeps;
  readonly #plan: ClientPlan;
  readonly #listener: StateStreamListener;
  /** Messages sent before the connection was up. */
  readonly #early: Uint8Array[] = [];
  #messages: MessageStream | undefined;
  #isOver = false;

  constructor(deps: SimRemoteDeps, plan: ClientPlan, listener: StateStreamListener) {
    this.#deps = deps;
    this.#plan = plan;
    this.#listener = listener;
    void this.#connect();
  }

  send(request: SyncRequest): boolean {
    const hasRoom = this.#send(encodeSyncRequest(request));
    const { chaos } = this.#deps.ports;
    const asksForOld = request.kind === 'state-request' && chaos.buggify('fair/asks-for-old');
    return asksForOld ? this.#send(encodeSyncRequest(this.#oldRequest(request.seed))) : hasRoom;
  }

  end(): void {
    this.#messages?.end();
  }

  cancel(): void {
    this.#isOver = true;
    const { chaos, random } = this.#deps.ports;
    if (chaos.buggify('fair/lingers')) this.#messages?.abandon(LINGER_MS_MAX * random.float());
    else this.#messages?.destroy();
  }

  #send(body: Uint8Array): boolean {
    if (this.#messages !== undefined) return this.#messages.send(body);
    this.#early.push(body);
    return true;
  }

  #oldRequest(seed: bigint): SyncRequest {
    const windowsBack = Math.floor(OLD_WINDOWS_MAX * this.#deps.ports.random.float());
    return {
      kind: 'state-request',
      seed: seed - BigInt(windowsBack * this.#plan.shape.windowMs),
    };
  }

  async #connect(): Promise<void> {
    const { ports, cluster } = this.#deps;
    const address = { host: SERVICE_NODE, port: SERVICE_PORT };
    try {
      const connection = await ports.network.connect(address);
      if (this.#isOver) {
        connection.destroy();
        return;
      }
      const deps = { ports, simulatedMs: cluster.simulatedMs, connection };
      this.#messages = new MessageStream(deps, cluster.plan, {
        onMessage: (body, delayMs) => this.#receive(body, delayMs),
        onDrain: () => this.#listener.onDrain(),
        onEnd: (error) => this.#ended(error),
      });
      for (const body of this.#early) this.#messages.send(body);
    } catch (thrown) {
      this.#ended(SynclineError.from(thrown));
    }
  }

  #receive(body: Uint8Array, delayMs: number): void {
    if (this.#isOver) return;
    const response = decodeSyncResponse(body);
    this.#deps.onReceived(response, delayMs);
    this.#listener.onMessage(response);
    this.#deps.onTaken();
  }

  #ended(error: SynclineError | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.onEnd(error);
  }
}
