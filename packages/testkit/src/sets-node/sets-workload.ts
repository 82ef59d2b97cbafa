// Add-wins sets on one node, its clients, and everything that can end the node or fail its disk.
import { assert } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import { openSets } from '@syncline/sets';
import { crashPoints, PowerWatch } from '../simulation/disk-watch.js';
import { clockSteps } from '../simulation/faults/clock-steps.js';
import { crashes } from '../simulation/faults/crashes.js';
import { failingSyncs } from '../simulation/faults/failing-syncs.js';
import { brieflyFullDisks, fullDisks } from '../simulation/faults/full-disks.js';
import { pauses } from '../simulation/faults/pauses.js';
import { powerLosses } from '../simulation/faults/power-losses.js';
import { slowDisks } from '../simulation/faults/slow-disks.js';
import type { Workload, WorkloadContext, WorkloadEntry } from '../simulation/workload.js';
import { isPlantedSetsBug, loadPlanted, PLANTED_SETS_BUGS } from './planted-bug.js';
import { type LifeEnd, SetsHistory } from './sets-history.js';
import { type SetsPlan, SetsProcess } from './sets-process.js';

const COME_UP_MS_MAX = 60_000;
/** Longer than a node without disk space for its epoch waits. */
const POLL_MS = 1_500;

export const setsWorkload: WorkloadEntry = {
  name: 'sets',
  faults: [
    brieflyFullDisks,
    clockSteps,
    crashPoints,
    crashes,
    failingSyncs,
    fullDisks,
    pauses,
    powerLosses,
    slowDisks,
  ],
  bugs: PLANTED_SETS_BUGS,
  probes: [
    'sets/checkpoint-and-log',
    'sets/failed',
    'sets/full',
    'sets/half-a-checkpoint',
    'sets/log-cut',
    'sets/lost-a-suffix',
    'sets/pinned',
    'sets/several-segments',
    'sets/stopped',
  ],
  async prepare(bug) {
    if (bug !== undefined && isPlantedSetsBug(bug)) await loadPlanted(bug);
  },
  create: (bug) => new SetsWorkload(bug),
};

/** Small limits, so that rare paths are taken often. */
function planSets(random: SeededRandom): SetsPlan {
  const pick = <T>(...choices: readonly [T, ...T[]]): T =>
    choices[Math.floor(random.float() * choices.length)] ?? choices[0];
  return {
    durability: pick('buffered', 'synced'),
    limits: {
      checkpointBlockBytesMax: pick(64, 65_536),
      checkpointChunkBytes: pick(200, 1_000_000),
      checkpointLogBytesMin: pick(500, 3_000, 1_000_000),
      checkpointStepRows: pick(1, 256),
      logReserveBytes: pick(0, 4_096),
      logSegmentBytesMax: pick(300, 2_000, 20_000),
      pinEntriesMax: pick(2, 20, 1_000_000, 1_000_000),
      pinsMax: pick(2, 1_000, 1_000),
      stopReplayBytesMax: pick(0, 2_000),
      turnMembersMax: pick(4, 4, 100, 16_384),
    },
    isLarge: pick(true, false, false, false),
    serveWhileLoading: pick(true, false),
    turnMsMax: pick(0, 3, 10, 30),
    clientsCount: pick(1, 2, 3, 4),
    pipelineMax: pick(1, 1, 3, 6),
    betweenMsMax: pick(20, 60, 200),
    stopAfterMs: pick(Number.POSITIVE_INFINITY, 3_000, 1_000),
    switchPart: pick(0, 0, 0.02, 0.1),
    savePart: pick(0, 0.01, 0.05),
  };
}

class SetsWorkload implements Workload {
  readonly name = 'sets';
  readonly #bug: string | undefined;
  #process: SetsProcess | undefined;
  /** How the previous process ended. */
  #end: LifeEnd = 'kill';
  #isWanted = true;
  readonly #counts = { lives: 0, operations: 0, answers: 0 };

  constructor(bug: string | undefined) {
    this.#bug = bug;
  }

  async setup({ simulation, random, targets }: WorkloadContext): Promise<void> {
    const plan = planSets(random.fork('plan'));
    const history = new SetsHistory(plan.durability);
    const bug = this.#bug;
    assert(bug === undefined || isPlantedSetsBug(bug), `there is no bug ${bug}`);
    const open = bug === undefined ? openSets : await loadPlanted(bug);
    const node = simulation.addNode('n1', async (ports) => {
      const { life } = node;
      this.#process = undefined;
      this.#count(history);
      this.#process = await SetsProcess.start({
        ports,
        plan,
        open,
        history,
        random: random.fork(`life/${this.#counts.lives}`),
        isAlive: () => node.life === life,
        isWanted: () => this.#isWanted,
        takeEnd: () => this.#takeEnd(),
      });
    });
    node.disk.plan = new PowerWatch(node.disk.plan, () => {
      this.#end = 'power';
    });
    targets.push(node);
  }

  async start({ simulation, random, targets }: WorkloadContext): Promise<void> {
    for (const node of targets) node.start();
    await simulation.clock.sleep(1_500 + 3_500 * random.fork('duration').float());
    this.#isWanted = false;
  }

  async check({ simulation }: WorkloadContext): Promise<void> {
    const deadlineMs = simulation.nowMs + COME_UP_MS_MAX;
    do {
      assert(simulation.nowMs < deadlineMs, 'S6: the node did not come back');
      await simulation.clock.sleep(POLL_MS);
    } while (this.#process?.isServing !== true);
    await this.#process.finish();
  }

  metrics(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  #takeEnd(): LifeEnd {
    const end = this.#end;
    this.#end = 'kill';
    return end;
  }

  /** Counts what the previous process has done. */
  #count({ life: { steps, connections } }: SetsHistory): void {
    const answers = connections.flat().filter(({ answer }) => answer !== undefined).length;
    this.#counts.lives += 1;
    this.#counts.operations += steps.length - 1;
    this.#counts.answers += answers;
  }
}
