// Sets on three to five nodes, and everything that can happen to the nodes, their disks and the network between them.
import { assert } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import { createMesh } from '@syncline/mesh';
import { openSets } from '@syncline/sets';
import { createOrderKeys } from '@syncline/sets/testing';
import { crashPoints, PowerWatch } from '../simulation/disk-watch.js';
import { clockSteps } from '../simulation/faults/clock-steps.js';
import { crashes } from '../simulation/faults/crashes.js';
import { fullDisks } from '../simulation/faults/full-disks.js';
import { partitions } from '../simulation/faults/partitions.js';
import { pauses } from '../simulation/faults/pauses.js';
import { powerLosses } from '../simulation/faults/power-losses.js';
import { roughNetwork } from '../simulation/faults/rough-network.js';
import { slowDisks } from '../simulation/faults/slow-disks.js';
import type { Workload, WorkloadContext, WorkloadEntry } from '../simulation/workload.js';
import { MeshHistory } from './mesh-history.js';
import { CLUSTER_ID, type MeshCode, type MeshPlan, MeshProcess, nodeName } from './mesh-process.js';
import { isPlantedMeshBug, loadPlanted, PLANTED_MESH_BUGS } from './planted-mesh-bug.js';

const COME_UP_MS_MAX = 60_000;
/** S11: equal again within this time. */
const CONVERGE_MS_MAX = 15_000;
const POLL_MS = 250;

export const setsMeshWorkload: WorkloadEntry = {
  name: 'sets-mesh',
  faults: [
    clockSteps,
    crashPoints,
    crashes,
    fullDisks,
    partitions,
    pauses,
    powerLosses,
    roughNetwork,
    slowDisks,
  ],
  bugs: PLANTED_MESH_BUGS,
  probes: [],
  async prepare(bug) {
    if (bug !== undefined && isPlantedMeshBug(bug)) await loadPlanted(bug);
  },
  create: (bug) => new SetsMeshWorkload(bug),
};

/** Small limits, so that what is rare happens often. */
function planMesh(random: SeededRandom): MeshPlan {
  const pick = <T>(...choices: readonly [T, ...T[]]): T =>
    choices[Math.floor(random.float() * choices.length)] ?? choices[0];
  return {
    nodes: pick(3, 3, 3, 4, 5),
    durability: pick('buffered', 'synced'),
    limits: {
      checkpointLogBytesMin: pick(2_000, 1_000_000),
      checkpointStepRows: pick(1, 256),
      logReserveBytes: pick(0, 4_096),
      logSegmentBytesMax: pick(2_000, 20_000),
      pinEntriesMax: pick(20, 1_000_000, 1_000_000),
      turnMembersMax: pick(4, 16_384),
    },
    antiEntropyIntervalMs: pick(500, 2_000, 10_000),
    mesh: {
      bufferSize: pick(4, 100, 65_536),
      ringBytesMax: pick(500, 5_000, 64 * 1024 * 1024),
      ackTimeoutMs: pick(50, 500),
      maxRetries: pick(0, 5),
    },
    turnMsMax: pick(0, 3, 10),
    betweenMsMax: pick(20, 60, 300),
    isLarge: pick(true, false, false, false),
  };
}

class SetsMeshWorkload implements Workload {
  readonly name = 'sets-mesh';
  readonly #bug: string | undefined;
  readonly #processes = new Map<number, MeshProcess>();
  #history = new MeshHistory(createOrderKeys(CLUSTER_ID));
  #plan: MeshPlan | undefined;
  #isWanted = true;
  #lives = 0;

  constructor(bug: string | undefined) {
    this.#bug = bug;
  }

  async setup({ simulation, random, targets }: WorkloadContext): Promise<void> {
    const plan = planMesh(random.fork('plan'));
    this.#plan = plan;
    const history = this.#history;
    const bug = this.#bug;
    assert(bug === undefined || isPlantedMeshBug(bug), `there is no bug ${bug}`);
    const code: MeshCode = bug === undefined ? { createMesh, openSets } : await loadPlanted(bug);
    for (let nodeId = 1; nodeId <= plan.nodes; nodeId += 1) {
      const node = simulation.addNode(nodeName(nodeId), async (ports) => {
        const { life } = node;
        this.#processes.delete(nodeId);
        this.#lives += 1;
        const process = await MeshProcess.start({
          ports,
          nodeId,
          plan,
          code,
          history,
          random: random.fork(`life/${this.#lives}`),
          isAlive: () => node.life === life,
          isWanted: () => this.#isWanted,
        });
        this.#processes.set(nodeId, process);
      });
      node.disk.plan = new PowerWatch(node.disk.plan, () => {
        if (plan.durability === 'buffered') history.mayLose(this.#processes.get(nodeId)?.actor);
      });
      targets.push(node);
    }
  }

  async start({ simulation, random, targets }: WorkloadContext): Promise<void> {
    for (const node of targets) node.start();
    await simulation.clock.sleep(3_000 + 9_000 * random.fork('duration').float());
    this.#isWanted = false;
  }

  async check({ simulation }: WorkloadContext): Promise<void> {
    const { clock } = simulation;
    const count = this.#plan?.nodes ?? 0;
    const upBy = simulation.nowMs + COME_UP_MS_MAX;
    while (!(await this.#canWrite(count))) {
      assert(simulation.nowMs < upBy, 'S6: a node does not come up again');
      await clock.sleep(POLL_MS);
    }
    const equalBy = simulation.nowMs + CONVERGE_MS_MAX;
    for (;;) {
      const digests = await this.#digests(count);
      if (digests !== undefined && new Set(digests).size === 1) break;
      assert(simulation.nowMs < equalBy, `S11: still unequal: ${digests?.join(' | ')}`);
      await clock.sleep(POLL_MS);
    }
    for (const { sets } of this.#processes.values())
      this.#history.checkAcknowledged(sets.version());
  }

  metrics(): Readonly<Record<string, number>> {
    return { lives: this.#lives, operations: this.#history.operationsCount };
  }

  /** One more write on every node, so that all of them have something to tell. */
  async #canWrite(count: number): Promise<boolean> {
    for (let nodeId = 1; nodeId <= count; nodeId += 1) {
      const process = this.#processes.get(nodeId);
      if (process === undefined || !(await process.write(`last/${nodeId}`))) return false;
    }
    return true;
  }

  async #digests(count: number): Promise<readonly string[] | undefined> {
    const digests: string[] = [];
    for (let nodeId = 1; nodeId <= count; nodeId += 1) {
      const digest = await this.#processes.get(nodeId)?.digest();
      if (digest === undefined) return undefined;
      digests.push(digest);
    }
    return digests;
  }
}
