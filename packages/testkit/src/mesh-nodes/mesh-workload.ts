// Three nodes that write and push to each other, and everything that can go wrong between them.
//
// Checked all the time: operations are delivered once and in causal order (in the slice), what counts as applied is
// committed at the peer, what a peer lacks is still in the ring, buffers stay within their limits. Once faults have
// stopped, all nodes become equal, and pushes alone keep them equal without a repair.
import { actorId, assert, dot, epochOf, nodeOf, VersionVector } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import { createMesh } from '@syncline/mesh';
import { clockSteps } from '../simulation/faults/clock-steps.js';
import { crashes } from '../simulation/faults/crashes.js';
import { partitions } from '../simulation/faults/partitions.js';
import { pauses } from '../simulation/faults/pauses.js';
import { roughNetwork } from '../simulation/faults/rough-network.js';
import type { Workload, WorkloadContext, WorkloadEntry } from '../simulation/workload.js';
import { type MeshPlan, MeshProcess, type NodeDisk } from './mesh-process.js';
import { isPlantedMeshBug, loadPlanted, PLANTED_MESH_BUGS } from './planted-bug.js';

const NAMES = ['n1', 'n2', 'n3'] as const;
const CHECK_MS = 15;
const CONVERGE_MS_MAX = 20_000;
/** Pushes arrive far sooner, and the first repair for a stuck operation starts later. */
const CALM_ROUND_MS = 700;
const CALM_ROUNDS = 3;
/** Counters start here, so that they soon need more than 32 bits. */
const FIRST_COUNTER = 2 ** 32 - 20;
const EPOCHS = 8;
const RECENT = 20;

export const meshWorkload: WorkloadEntry = {
  name: 'mesh',
  faults: [clockSteps, crashes, partitions, pauses, roughNetwork],
  bugs: PLANTED_MESH_BUGS,
  probes: [
    'mesh/behind',
    'mesh/evicted-pull',
    'mesh/gap-pull',
    'mesh/overflow-pull',
    'mesh/pending',
    'mesh/reconnect',
    'mesh/retry',
  ],
  async prepare(bug) {
    if (bug !== undefined && isPlantedMeshBug(bug)) await loadPlanted(bug);
  },
  create: (bug) => new MeshWorkload(bug),
};

/** Small limits, so that rare paths are taken often. */
function planMesh(random: SeededRandom): MeshPlan {
  const pick = <T>(...choices: readonly [T, ...T[]]): T =>
    choices[Math.floor(random.float() * choices.length)] ?? choices[0];
  return {
    bufferSize: pick(4, 4, 50, 65_536, 65_536),
    ringBytesMax: pick(500, 5_000, 64 * 1024 * 1024, 64 * 1024 * 1024),
    betweenMsMax: pick(40, 100, 400),
    commitMsMax: pick(1, 10, 100, 1_500),
    undoPart: pick(0, 0, 0.05, 0.3),
    refusePart: pick(0, 0, 0.05, 0.3),
  };
}

class MeshWorkload implements Workload {
  readonly name = 'mesh';
  readonly #bug: string | undefined;
  readonly #disks: NodeDisk[] = NAMES.map(() => newDisk());
  /** The running process of each node, if it has come up. */
  readonly #processes: (MeshProcess | undefined)[] = [];
  #plan: MeshPlan | undefined;
  #isWanted = true;
  readonly #counts = { lives: 0, operations: 0 };

  constructor(bug: string | undefined) {
    this.#bug = bug;
  }

  async setup({ simulation, random, targets }: WorkloadContext): Promise<void> {
    const bug = this.#bug;
    assert(bug === undefined || isPlantedMeshBug(bug), `there is no bug ${bug}`);
    const create = bug === undefined ? createMesh : await loadPlanted(bug);
    const plan = planMesh(random.fork('plan'));
    this.#plan = plan;
    for (const [index, name] of NAMES.entries()) {
      const node = simulation.addNode(name, async (ports) => {
        const { life } = node;
        this.#counts.lives += 1;
        const disk = this.#diskOf(index);
        const process = new MeshProcess(
          {
            ports,
            random: random.fork(`life/${this.#counts.lives}`),
            create,
            isAlive: () => node.life === life,
            isWanted: () => this.#isWanted,
            isCurrent: (actor) => this.#diskOf(nodeOf(actor) - 1).epoch === epochOf(actor),
          },
          { nodeId: index + 1, names: NAMES, disk, plan },
        );
        this.#processes[index] = process;
        await process.run();
      });
      targets.push(node);
      node.start();
    }
  }

  async start(context: WorkloadContext): Promise<void> {
    const { simulation, random } = context;
    const endMs = simulation.nowMs + 1_500 + 4_500 * random.fork('duration').float();
    while (simulation.nowMs < endMs) {
      await simulation.clock.sleep(CHECK_MS);
      this.#checkAll(context);
    }
    this.#isWanted = false;
  }

  async check(context: WorkloadContext): Promise<void> {
    await this.#converge(context, CONVERGE_MS_MAX);
    for (let round = 0; round < CALM_ROUNDS; round += 1) {
      await this.#calmRound(context);
    }
    for (const { log } of this.#disks) this.#counts.operations += log.length;
  }

  metrics(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  #diskOf(index: number): NodeDisk {
    const disk = this.#disks[index];
    assert(disk !== undefined, 'each node has a disk');
    return disk;
  }

  /** Waits until all nodes are connected, quiet and equal. */
  async #converge(context: WorkloadContext, withinMs: number): Promise<void> {
    const { simulation } = context;
    const deadlineMs = simulation.nowMs + withinMs;
    for (;;) {
      await simulation.clock.sleep(CHECK_MS);
      this.#checkAll(context);
      const problem = this.#difference();
      if (problem === undefined) return;
      assert(simulation.nowMs < deadlineMs, `M9: not equal after ${withinMs} ms: ${problem}`);
    }
  }

  #difference(): string | undefined {
    const versions = this.#disks.map(({ version }) => version);
    const [first, ...others] = versions;
    if (first !== undefined && others.some((other) => !other.equals(first))) {
      return `${versions.join(' | ')}; ${this.#statuses()}`;
    }
    for (const [index, process] of this.#processes.entries()) {
      for (const status of process?.mesh.peers() ?? []) {
        const isIdle = status.lagOperations === 0 && status.pendingOperations === 0;
        if (status.state !== 'connected' || !isIdle) {
          return `${NAMES[index]}: ${JSON.stringify(status)}`;
        }
      }
    }
    return undefined;
  }

  #statuses(): string {
    const all = this.#processes.map((process) => process?.mesh.peers());
    return JSON.stringify(all);
  }

  /** All write concurrently, again and again. Nothing was lost, so no repair is needed. */
  async #calmRound(context: WorkloadContext): Promise<void> {
    const { simulation, random } = context;
    const before = this.#pullsCount();
    for (let burst = 0; burst < 5; burst += 1) {
      for (const process of this.#processes) process?.write(1 + Math.floor(3 * random.float()));
      await simulation.clock.sleep(2 * random.float());
    }
    const { commitMsMax = 0, bufferSize = 0, ringBytesMax = 0 } = this.#plan ?? {};
    // Small buffers overflow even without faults, and a slow disk looks like a peer that does not answer.
    const isRoomy = bufferSize > 50 && ringBytesMax > 5_000 && commitMsMax < 100;
    await this.#converge(context, isRoomy ? CALM_ROUND_MS : CONVERGE_MS_MAX);
    assert(!isRoomy || this.#pullsCount() === before, 'M9: a repair was requested without faults');
  }

  #pullsCount(): number {
    let count = 0;
    for (const process of this.#processes) {
      const { overflow = 0, gap = 0, evicted = 0 } = process?.slice.pulls ?? {};
      count += overflow + gap + evicted;
    }
    return count;
  }

  #checkAll({ simulation }: WorkloadContext): void {
    for (const [index, process] of this.#processes.entries()) {
      if (process === undefined || simulation.nodes[index]?.state === 'down') continue;
      this.#checkApplied(index, process);
      this.#checkStatus(index, process);
      const { overflow, gap, evicted } = process.slice.pulls;
      const isPulled = process.droppedCount === 0 || overflow > 0;
      assert(isPulled, 'M25: an operation was dropped, and no pull was requested');
      if (overflow > 0) simulation.chaos.probe('mesh/overflow-pull');
      if (gap > 0) simulation.chaos.probe('mesh/gap-pull');
      if (evicted > 0) simulation.chaos.probe('mesh/evicted-pull');
      for (const status of process.mesh.peers()) {
        if (status.state === 'behind') simulation.chaos.probe('mesh/behind');
        if (status.pendingOperations > 0) simulation.chaos.probe('mesh/pending');
        if (status.reconnects > 0) simulation.chaos.probe('mesh/reconnect');
        if (status.retries > 0) simulation.chaos.probe('mesh/retry');
      }
    }
  }

  /** Disks never lose what is committed here, so what counts as applied must be on them. */
  #checkApplied(index: number, { channel, slice, epoch }: MeshProcess): void {
    const actor = actorId(index + 1, epoch);
    for (const counter of slice.published.slice(-RECENT)) {
      const onDisk = this.#disks.filter(
        ({ version }, other) => other !== index && version.counterOf(actor) >= counter,
      );
      const applied = channel.appliedCount(counter);
      assert(
        applied <= onDisk.length,
        `M24: ${applied} peers count as having applied ${counter}, ${onDisk.length} have`,
      );
    }
  }

  #checkStatus(index: number, { mesh, slice, epoch }: MeshProcess): void {
    const actor = actorId(index + 1, epoch);
    let pending = 0;
    for (const status of mesh.peers()) {
      const { nodeId, lagOperations, evictedOperations, pendingOperations } = status;
      pending += pendingOperations;
      if ((this.#plan?.ringBytesMax ?? 0) <= 5_000) continue; // its limits push out what is needed
      const onDisk = this.#diskOf(nodeId - 1).version.counterOf(actor);
      const missing = slice.published.filter((counter) => counter > onDisk).length;
      const kept = lagOperations - evictedOperations;
      assert(
        kept >= missing,
        `M14: node ${nodeId} lacks ${missing} operations, and ${kept} are kept for it`,
      );
    }
    assert(pending <= (this.#plan?.bufferSize ?? 0), `M22: ${pending} operations are pending`);
  }
}

function newDisk(): NodeDisk {
  const version = new VersionVector();
  for (let node = 1; node <= NAMES.length; node += 1) {
    for (let epoch = 1; epoch <= EPOCHS; epoch += 1) {
      version.merge(VersionVector.of(dot(actorId(node, epoch), FIRST_COUNTER)));
    }
  }
  return { epoch: 0, log: [], version };
}
