// The process of the state service: the real service over a real store, behind simulated streams.
import {
  type Applied,
  type ChangeId,
  createEmbeddedFairStore,
  createMemoryFairStore,
  type FairStore,
  type Namespace,
  StateService,
  type StreamSink,
} from '@syncline/fair';
import type { Clock, Connection } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import { plantInClock } from './bugs/plant-in-clock.js';
import { plantInSink } from './bugs/plant-in-sink.js';
import { plantInStore } from './bugs/plant-in-store.js';
import type { ClientProcess } from './client-process.js';
import { type FairCluster, SERVICE_NODE, SERVICE_PORT } from './fair-cluster.js';
import { MessageStream } from './message-stream.js';
import { ProbingMetrics } from './probing-metrics.js';
import { StreamWatch } from './stream-watch.js';
import { wasAnyStepped } from './wall-steps.js';
import { WatchedStore } from './watched-store.js';

/** The running clients, by node. */
export type ClientProcesses = ReadonlyMap<string, ClientProcess>;

export class ServiceProcess {
  readonly #ports: SimPorts;
  readonly #cluster: FairCluster;
  readonly #clients: ClientProcesses;
  readonly #service: StateService;
  readonly #watches = new Set<StreamWatch>();
  /** Whether the view in flight, if any, may contain outcomes twice. */
  #isViewUnsure = false;
  readonly store: WatchedStore;

  private constructor(
    ports: SimPorts,
    cluster: FairCluster,
    clients: ClientProcesses,
    inner: FairStore,
  ) {
    const { plan, changes, bug } = cluster;
    const { logger, random, chaos } = ports;
    this.#ports = ports;
    this.#cluster = cluster;
    this.#clients = clients;
    this.store = new WatchedStore({
      clock: ports.clock,
      store: plantInStore(inner, bug),
      changes,
      onApplied: (namespace, applied, id) => this.#applied(namespace, applied, id),
    });
    this.#service = new StateService(
      {
        clock: clockOf(ports, cluster),
        random,
        logger,
        metrics: new ProbingMetrics(chaos),
        store: this.store,
      },
      plan.service,
    );
  }

  static async start(
    ports: SimPorts,
    cluster: FairCluster,
    clients: ClientProcesses,
  ): Promise<ServiceProcess> {
    const store = await openStore(ports, cluster);
    const service = new ServiceProcess(ports, cluster, clients, store);
    const address = { host: SERVICE_NODE, port: SERVICE_PORT };
    await ports.network.listen(address, (connection) => service.#serve(connection));
    return service;
  }

  /** By the clock that drives decay. */
  get monotonicMs(): number {
    return this.#ports.clock.monotonicMs();
  }

  #serve(connection: Connection): void {
    const { simulatedMs, plan, bug } = this.#cluster;
    const isStepped = () => wasAnyStepped(this.#cluster.simulation, [SERVICE_NODE]);
    const watchDeps = { clock: this.#ports.clock, model: this.store.model, isStepped };
    const watch = new StreamWatch(watchDeps, connection.remote.host, plan.service.defaultWindowMs);
    this.#watches.add(watch);
    const messages = new MessageStream({ ports: this.#ports, simulatedMs, connection }, plan, {
      onMessage: (body) => this.#receive(watch, body, (message) => stream.receive(message)),
      onDrain: () => stream.drained(),
      onEnd: () => {
        this.#watches.delete(watch);
        stream.closed();
      },
    });
    const sink: StreamSink = {
      write(message) {
        watch.written(message);
        return messages.send(message.slice()); // its writer may use the buffer again
      },
      end: (error) => {
        if (error?.code === 'fenced') this.#ports.chaos.probe('fair/stream-replaced');
        this.#watches.delete(watch);
        messages.end(error);
      },
    };
    const stream = this.#service.connect(plantInSink(sink, bug));
  }

  /** Occasionally a change arrives twice, or one of an older stream arrives late. */
  async #receive(
    watch: StreamWatch,
    body: Uint8Array,
    handIn: (message: Uint8Array) => void | Promise<void>,
  ): Promise<void> {
    const { chaos } = this.#ports;
    const request = watch.received(body);
    this.#isViewUnsure = !watch.isSameEpoch || this.#clients.get(watch.node)?.hasGivenUp !== false;
    await handIn(body);
    const { clientId } = watch;
    if (clientId === '') return; // in the original contract a duplicated change counts twice
    if (request.kind === 'delta-update') {
      this.#cluster.lastDeltas.set(clientId, body);
      if (chaos.buggify('fair/delivered-twice')) await handIn(body);
    } else if (request.kind === 'state-request') {
      const late = this.#cluster.lastDeltas.get(clientId);
      if (late !== undefined && chaos.buggify('fair/delivered-late')) await handIn(late);
    }
  }

  #applied(namespace: Namespace, applied: Applied, id: ChangeId | undefined): void {
    const { outcomes, plan } = this.#cluster;
    const shape = plan.clients.find(({ tracker }) => tracker === namespace.name)?.shape;
    const { count, rows, columns, probabilities } = applied.cells;
    for (let index = 0; index < count && shape !== undefined; index += 1) {
      const cell = (rows[index] ?? 0) * shape.columns + (columns[index] ?? 0);
      const probability = probabilities[index] ?? 0;
      if (id === undefined && namespace.name !== '' && this.#isViewUnsure)
        outcomes.excuse(namespace.name, applied.seed, cell);
      outcomes.check(namespace.name, applied.seed, cell, probability);
    }
    if (id === undefined) return;
    for (const watch of this.#watches) watch.applied(namespace, applied, id);
  }
}

async function openStore(ports: SimPorts, cluster: FairCluster): Promise<FairStore> {
  const clock = clockOf(ports, cluster);
  if (cluster.plan.store === 'memory') return createMemoryFairStore({ clock });
  const storage = await ports.openStorage('fair');
  const metrics = new ProbingMetrics(ports.chaos);
  const logger = { ...ports.logger, info: () => ports.chaos.probe('fair/restored') };
  return createEmbeddedFairStore({ storage, clock, logger, metrics });
}

function clockOf({ clock }: SimPorts, { bug, plan }: FairCluster): Clock {
  return bug === undefined ? clock : plantInClock(clock, bug, plan.service.defaultWindowMs);
}
