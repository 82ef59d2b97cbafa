// The sets of one node under simulation: clients with random commands on a disk that is slow, full or
// failing, a process that ends at any moment, and what must hold at every start and in the end.
import { assert } from '@syncline/kernel';
import { openSets } from '@syncline/sets';
import { crashPoints, PowerWatch } from '../simulation/disk-watch.js';
import { crashes } from '../simulation/faults/crashes.js';
import { failingSyncs } from '../simulation/faults/failing-syncs.js';
import { fullDisks } from '../simulation/faults/full-disks.js';
import { pauses } from '../simulation/faults/pauses.js';
import { powerLosses } from '../simulation/faults/power-losses.js';
import { slowDisks } from '../simulation/faults/slow-disks.js';
import type { Workload, WorkloadContext, WorkloadEntry } from '../simulation/workload.js';
import { loadPlanted } from './bugs/load-planted.js';
import { isPlantedSetsBug, PLANTED_SETS_BUGS, type PlantedSetsBug } from './bugs/planted-bug.js';
import { type LifeEnd, SetsHistory } from './sets-history.js';
import { planSets, type SetsPlan } from './sets-plan.js';
import { SetsProcess } from './sets-process.js';

const COME_UP_MS_MAX = 60_000;
const POLL_MS = 50;

export const setsWorkload: WorkloadEntry = {
  name: 'sets',
  faults: [crashPoints, crashes, failingSyncs, fullDisks, pauses, powerLosses, slowDisks],
  bugs: PLANTED_SETS_BUGS,
  probes: [
    'sets/failed',
    'sets/journal-cut',
    'sets/journal-found',
    'sets/lost-a-suffix',
    'sets/refused',
    'sets/stopped',
  ],
  async prepare(bug) {
    if (bug !== undefined && isPlantedSetsBug(bug)) await loadPlanted(bug);
  },
  create(bug) {
    assert(bug === undefined || isPlantedSetsBug(bug), `there is no bug ${bug}`);
    return new SetsWorkload(bug);
  },
};

class SetsWorkload implements Workload {
  readonly name = 'sets';
  readonly #bug: PlantedSetsBug | undefined;
  readonly #history = new SetsHistory();
  #plan: SetsPlan | undefined;
  #process: SetsProcess | undefined;
  /** How the life before has ended. */
  #end: LifeEnd = 'kill';
  #isLoading = true;
  readonly #counts = { lives: 0, operations: 0, answers: 0 };

  constructor(bug: PlantedSetsBug | undefined) {
    this.#bug = bug;
  }

  async setup({ simulation, random, targets }: WorkloadContext): Promise<void> {
    const plan = planSets(random.fork('plan'));
    const open = this.#bug === undefined ? openSets : await loadPlanted(this.#bug);
    this.#plan = plan;
    const node = simulation.addNode('n1', async (ports) => {
      this.#process = undefined;
      this.#count();
      const deps = {
        ports,
        plan,
        open,
        history: this.#history,
        random: random.fork(`life/${this.#counts.lives}`),
        isLoading: () => this.#isLoading,
        takeEnd: () => this.#takeEnd(),
      };
      this.#process = await SetsProcess.start(deps);
    });
    node.disk.plan = new PowerWatch(node.disk.plan, () => {
      this.#end = 'power';
    });
    targets.push(node);
  }

  async start({ simulation, targets }: WorkloadContext): Promise<void> {
    for (const node of targets) node.start();
    await simulation.clock.sleep(this.#plan?.runMs ?? 0);
    this.#isLoading = false;
  }

  async check({ simulation }: WorkloadContext): Promise<void> {
    const deadlineMs = simulation.nowMs + COME_UP_MS_MAX;
    do {
      assert(simulation.nowMs < deadlineMs, 'S6: the node does not come up again');
      await simulation.clock.sleep(POLL_MS);
    } while (this.#process?.isServing !== true);
    await this.#process.finish();
    this.#count();
  }

  metrics(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  #takeEnd(): LifeEnd {
    const end = this.#end;
    this.#end = 'kill';
    return end;
  }

  /** What the life that is over has done. */
  #count(): void {
    const { steps, clients } = this.#history.life;
    const answers = clients.flat().filter(({ answer }) => answer !== undefined).length;
    this.#counts.lives += 1;
    this.#counts.operations += steps.length - 1;
    this.#counts.answers += answers;
  }
}
