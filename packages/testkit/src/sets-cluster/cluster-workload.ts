// Three nodes of replicated sets, their clients, and everything that can go wrong between and below them.
import { assert } from '@syncline/kernel';
import type { MessageLink, SeededRandom, SimNode, Simulation } from '@syncline/kernel/testing';
import { openSets } from '@syncline/sets';
import type { FakeMessage } from '@syncline/sets/testing';
import { crashPoints, PowerWatch } from '../simulation/disk-watch.js';
import { crashes } from '../simulation/faults/crashes.js';
import { brieflyFullDisks } from '../simulation/faults/full-disks.js';
import { partitions } from '../simulation/faults/partitions.js';
import { pauses } from '../simulation/faults/pauses.js';
import { powerLosses } from '../simulation/faults/power-losses.js';
import { roughNetwork } from '../simulation/faults/rough-network.js';
import { slowDisks } from '../simulation/faults/slow-disks.js';
import type { Workload, WorkloadContext, WorkloadEntry } from '../simulation/workload.js';
import { ClusterHistory } from './cluster-history.js';
import { type ClusterPlan, ClusterProcess } from './cluster-process.js';
import { isPlantedClusterBug, loadPlanted, PLANTED_CLUSTER_BUGS } from './planted-bug.js';

/** Time for all nodes to converge once faults have stopped. */
const CONVERGE_MS_MAX = 25_000;
const POLL_MS = 500;

export const setsClusterWorkload: WorkloadEntry = {
  name: 'sets-cluster',
  faults: [
    brieflyFullDisks,
    crashPoints,
    crashes,
    partitions,
    pauses,
    powerLosses,
    roughNetwork,
    slowDisks,
  ],
  bugs: PLANTED_CLUSTER_BUGS,
  probes: [
    ...['applied', 'nothing', 'aborted', 'busy', 'skipped'],
    ...['symbols', 'added', 'dropped', 'loading'],
  ].map((name) => `sets-cluster/${name}`),
  async prepare(bug) {
    if (bug !== undefined && isPlantedClusterBug(bug)) await loadPlanted(bug);
  },
  create: (bug) => new SetsClusterWorkload(bug),
};

function planCluster(random: SeededRandom): ClusterPlan {
  const pick = <T>(...choices: readonly [T, ...T[]]): T =>
    choices[Math.floor(random.float() * choices.length)] ?? choices[0];
  return {
    durability: pick('buffered', 'synced'),
    nodeIds: pick([1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3, 4, 5]),
    limits: {
      checkpointLogBytesMin: pick(500, 3_000, 1_000_000),
      checkpointStepRows: pick(1, 256),
      pinEntriesMax: pick(10, 1_000_000, 1_000_000, 1_000_000),
      logReserveBytes: 0,
    },
    pullLimits: {
      dotsMax: pick(2, 262_144, 262_144),
      bytesMax: pick(200, 1_000_000),
      frameBytes: pick(40, 200, 262_144),
      framesAhead: pick(1, 4),
      symbolsSmall: pick(32, 16_384),
      symbolsMax: pick(128, 16_384),
      stepRows: pick(1, 1, 4, 256),
    },
    pullIntervalMs: pick(300, 2_000, 10_000),
    mesh: pick('fake', 'real'),
    pendingMax: pick(0, 4, 1_000),
    ringBytesMax: pick(100, 1_000, 1_000_000),
    turnMsMax: pick(0, 3, 10),
    betweenMsMax: pick(20, 60, 200),
    membersCount: pick(3, 8),
    preloadedCount: pick(0, 0, 300),
    runMs: 2_000 + 4_000 * random.float(),
  };
}

class SetsClusterWorkload implements Workload {
  readonly name = 'sets-cluster';
  readonly #bug: string | undefined;
  readonly #history = new ClusterHistory();
  readonly #processes = new Map<number, ClusterProcess>();
  readonly #nodes = new Map<number, SimNode>();
  readonly #links = new Map<string, MessageLink<FakeMessage>>();
  #plan: ClusterPlan | undefined;
  #isWanted = true;
  #hasLostPower = false;
  #lives = 0;

  constructor(bug: string | undefined) {
    this.#bug = bug;
  }

  async setup({ simulation, random, targets }: WorkloadContext): Promise<void> {
    const plan = planCluster(random.fork('plan'));
    this.#plan = plan;
    const bug = this.#bug;
    assert(bug === undefined || isPlantedClusterBug(bug), `there is no bug ${bug}`);
    const open = bug === undefined ? openSets : await loadPlanted(bug);
    for (const nodeId of plan.nodeIds) {
      const node = simulation.addNode(`n${nodeId}`, async (ports) => {
        this.#lives += 1;
        const process = new ClusterProcess({
          nodeId,
          ports,
          plan,
          open,
          history: this.#history,
          random: random.fork(`life/${this.#lives}`),
          send: (peer, message) => this.#link(simulation, nodeId, peer).send(message),
          isWanted: () => this.#isWanted,
        });
        this.#processes.set(nodeId, process);
        await process.start();
      });
      node.disk.plan = new PowerWatch(node.disk.plan, () => {
        this.#hasLostPower = true;
      });
      this.#nodes.set(nodeId, node);
      targets.push(node);
    }
  }

  async start({ simulation, targets }: WorkloadContext): Promise<void> {
    for (const node of targets) node.start();
    await simulation.clock.sleep(this.#plan?.runMs ?? 0);
    this.#isWanted = false;
  }

  async check({ simulation }: WorkloadContext): Promise<void> {
    const deadlineMs = simulation.nowMs + CONVERGE_MS_MAX;
    for (;;) {
      await simulation.clock.sleep(POLL_MS);
      const shown = new Set<string | undefined>();
      for (const process of this.#processes.values()) shown.add(await process.shown());
      if (shown.size === 1 && !shown.has(undefined)) break;
      assert(
        simulation.nowMs < deadlineMs,
        `S36: nodes do not converge: ${[...shown].join(' / ')}`,
      );
    }
    if (this.#hasLostPower && this.#plan?.durability === 'buffered') return;
    const version = [...this.#processes.values()][0]?.version();
    for (const dot of this.#history.acknowledged)
      assert(
        version?.covers(dot) === true,
        `S6: an acknowledged write is lost: ${dot.actor}:${dot.counter}`,
      );
  }

  metrics(): Readonly<Record<string, number>> {
    return { lives: this.#lives, operations: this.#history.operationsCount };
  }

  #link(simulation: Simulation, from: number, to: number): MessageLink<FakeMessage> {
    const key = `${from}>${to}`;
    const [source, target] = [this.#nodes.get(from), this.#nodes.get(to)];
    assert(source !== undefined && target !== undefined, 'both nodes exist');
    const link =
      this.#links.get(key) ??
      simulation.messageLink<FakeMessage>(source, target, (message) =>
        this.#processes.get(to)?.receive(from, message),
      );
    this.#links.set(key, link);
    return link;
  }
}
