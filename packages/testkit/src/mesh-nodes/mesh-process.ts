// One process of a simulated mesh: the mesh, the smallest slice on it, and a writer.
import { actorId, silentMetrics } from '@syncline/kernel';
import type { SeededRandom, SimPorts } from '@syncline/kernel/testing';
import type { createMesh, Mesh, MeshChannel } from '@syncline/mesh';
import { AddOnlySlice, type AddOnlySliceOptions, type SliceDisk } from '@syncline/mesh/testing';

export interface MeshPlan {
  readonly bufferSize: number;
  readonly ringBytesMax: number;
  /** Between two operations of a node, at most. */
  readonly betweenMsMax: number;
  readonly commitMsMax: number;
  /** How often a writer rolls back uncommitted operations, or accepts nothing for a while. */
  readonly undoPart: number;
  readonly refusePart: number;
}

/** What a node keeps across crashes. */
export interface NodeDisk extends SliceDisk {
  epoch: number;
}

export interface MeshProcessDeps {
  readonly ports: SimPorts;
  readonly random: SeededRandom;
  readonly create: typeof createMesh;
  readonly isAlive: () => boolean;
  readonly isCurrent: AddOnlySliceOptions['isCurrent'];
  /** Whether more is to be written. */
  readonly isWanted: () => boolean;
}

export interface MeshProcessOptions {
  readonly nodeId: number;
  readonly names: readonly string[];
  readonly disk: NodeDisk;
  readonly plan: MeshPlan;
}

const PORT = 7403;
const REFUSE_MS_MAX = 400;
const BURST_MAX = 6;

export class MeshProcess {
  readonly mesh: Mesh;
  readonly slice: AddOnlySlice;
  readonly channel: MeshChannel;
  readonly epoch: number;
  /** Operations that were dropped for lack of room. */
  droppedCount = 0;
  readonly #deps: MeshProcessDeps;
  readonly #options: MeshProcessOptions;

  constructor(deps: MeshProcessDeps, options: MeshProcessOptions) {
    const { ports, random, create, isCurrent } = deps;
    const { nodeId, names, disk, plan } = options;
    this.#deps = deps;
    this.#options = options;
    disk.epoch += 1; // nothing stops cleanly here
    this.epoch = disk.epoch;
    const peers = names.map((host, index) => ({ nodeId: index + 1, host, port: PORT }));
    const { bufferSize, ringBytesMax } = plan;
    const settings = {
      nodeId,
      clusterId: 'sim',
      peers,
      secret: 'secret',
      bufferSize,
      ringBytesMax,
    };
    const metrics = { ...silentMetrics, add: (name: string) => this.#count(name) };
    this.mesh = create({ ...ports, metrics }, settings);
    const actor = actorId(nodeId, disk.epoch);
    const commitMs = () => plan.commitMsMax * random.float() ** 2;
    this.slice = new AddOnlySlice(ports.clock, disk, { actor, commitMs, isCurrent });
    this.channel = this.mesh.channel('list', this.slice);
    this.slice.channel = this.channel;
  }

  /** Listens, connects, and writes until it is stopped. */
  async run(): Promise<void> {
    const { ports, isAlive, isWanted, random } = this.#deps;
    const { plan, disk } = this.#options;
    await ports.network.listen({ host: '0.0.0.0', port: PORT }, (each) => this.mesh.accept(each));
    this.mesh.open(disk.epoch);
    while (isAlive() && isWanted()) {
      await ports.clock.sleep(plan.betweenMsMax * random.float() ** 2);
      const choice = random.float();
      if (choice < plan.undoPart) this.slice.undo();
      else if (choice < plan.undoPart + plan.refusePart) await this.#refuseForAWhile();
      else this.write(1 + Math.floor(BURST_MAX * random.float() ** 3));
    }
    this.slice.accept();
    if (plan.undoPart > 0) this.slice.undo(); // nothing follows that would show the gap
  }

  write(operations: number): void {
    const { random } = this.#deps;
    for (let left = operations; left > 0; left -= 1) {
      this.slice.add(
        1 + Math.floor(3 * random.float()),
        random.bytes(Math.floor(40 * random.float())),
      );
    }
  }

  #count(name: string): void {
    if (name === 'syncline_mesh_overflow_total') this.droppedCount += 1;
  }

  async #refuseForAWhile(): Promise<void> {
    const { ports, random } = this.#deps;
    this.slice.refuse();
    await ports.clock.sleep(REFUSE_MS_MAX * random.float());
    this.slice.accept();
  }
}
