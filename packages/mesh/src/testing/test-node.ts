// A node of a simulated mesh for tests of connections: it records logs and metrics.
import { actorId, type Labels, type Logger, type Metrics, VersionVector } from '@syncline/kernel';
import type { SimNode, SimPorts, Simulation } from '@syncline/kernel/testing';
import type { ChannelHandler, Mesh, MeshOptions, SnappyCodec } from '../mesh.js';
import { createMesh } from '../open-mesh.js';
import { AddOnlySlice, type SliceDisk } from './add-only-slice.js';

export const PORT = 7403;

export interface TestNodeOptions extends Partial<MeshOptions> {
  readonly nodeId: number;
  /** Node ids; node k listens at host `nk`. Default 1 to 3. */
  readonly peerIds?: readonly number[];
  readonly epoch?: number;
  readonly channels?: readonly string[];
  readonly snappy?: SnappyCodec;
  /** Changes the handler of the first channel. */
  readonly wrap?: (slice: AddOnlySlice) => ChannelHandler;
}

export class TestNode {
  readonly disk: SliceDisk = { log: [], version: new VersionVector() };
  readonly lines: string[] = [];
  readonly counters = new Map<string, number>();
  readonly node: SimNode;
  readonly #options: TestNodeOptions;
  #running: { readonly mesh: Mesh; readonly slice: AddOnlySlice } | undefined;

  constructor(simulation: Simulation, options: TestNodeOptions) {
    this.#options = options;
    this.node = simulation.addNode(`n${options.nodeId}`, (ports) => this.#boot(ports));
    this.node.start();
  }

  get mesh(): Mesh {
    if (this.#running === undefined) throw new Error('the node has not come up');
    return this.#running.mesh;
  }

  get slice(): AddOnlySlice {
    if (this.#running === undefined) throw new Error('the node has not come up');
    return this.#running.slice;
  }

  /** State by node id. */
  get states(): Readonly<Record<number, string>> {
    return Object.fromEntries(this.mesh.peers().map(({ nodeId, state }) => [nodeId, state]));
  }

  count(metric: string): number {
    return this.counters.get(metric) ?? 0;
  }

  async #boot(ports: SimPorts): Promise<void> {
    const { nodeId, peerIds = [1, 2, 3], epoch = 0, channels = ['list'], wrap } = this.#options;
    const { snappy } = this.#options;
    const peers = peerIds.map((id) => ({ nodeId: id, host: `n${id}`, port: PORT }));
    const mesh = createMesh(
      { ...ports, logger: this.#logger(), metrics: this.#metrics(), ...(snappy && { snappy }) },
      { clusterId: 'test', secret: 'secret', peers, ...this.#options },
    );
    const actor = actorId(nodeId, epoch);
    const options = { actor, commitMs: () => 1, isCurrent: () => false };
    const slice = new AddOnlySlice(ports.clock, this.disk, options);
    for (const [index, name] of channels.entries()) {
      const isFirst = index === 0;
      const other = new AddOnlySlice(ports.clock, this.disk, options);
      const channel = mesh.channel(name, isFirst ? (wrap?.(slice) ?? slice) : other);
      if (isFirst) slice.channel = channel;
    }
    await ports.network.listen({ host: '0.0.0.0', port: PORT }, (each) => mesh.accept(each));
    this.#running = { mesh, slice };
    mesh.open(epoch);
  }

  #logger(): Logger {
    const add = (msg: string, fields: Readonly<Record<string, unknown>> = {}) => {
      this.lines.push(`${msg} ${JSON.stringify(fields)}`);
    };
    const logger: Logger = { debug: add, info: add, warn: add, error: add, child: () => logger };
    return logger;
  }

  #metrics(): Metrics {
    const add = (name: string, amount = 1, labels: Labels = {}) => {
      const key = [name, ...Object.values(labels)].join(' ');
      this.counters.set(key, (this.counters.get(key) ?? 0) + amount);
    };
    const set = (name: string, value: number, labels: Labels = {}) => {
      this.counters.set([name, ...Object.values(labels)].join(' '), value);
    };
    return { add, set, observe: (name, _, labels) => add(name, 1, labels) };
  }
}
