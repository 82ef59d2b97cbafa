// The job store under simulation: managers and readers over links that lose, duplicate and delay messages, a store on
// a disk that is slow, full or failing, processes that end at any moment, and what must hold throughout.
import { assert } from '@syncline/kernel';
import type { SeededRandom, SimNode } from '@syncline/kernel/testing';
import { crashPoints, PowerWatch } from '../simulation/disk-watch.js';
import { clockSteps } from '../simulation/faults/clock-steps.js';
import { crashes } from '../simulation/faults/crashes.js';
import { failingSyncs } from '../simulation/faults/failing-syncs.js';
import { fullDisks } from '../simulation/faults/full-disks.js';
import { partitions } from '../simulation/faults/partitions.js';
import { pauses } from '../simulation/faults/pauses.js';
import { powerLosses } from '../simulation/faults/power-losses.js';
import { roughNetwork } from '../simulation/faults/rough-network.js';
import { slowDisks } from '../simulation/faults/slow-disks.js';
import type { Workload, WorkloadContext, WorkloadEntry } from '../simulation/workload.js';
import { type JobsCode, loadPlanted, REAL_CODE } from './bugs/load-planted.js';
import { isPlantedJobsBug, PLANTED_JOBS_BUGS } from './bugs/planted-bug.js';
import { checkWhatWasSeen } from './checks/what-was-seen.js';
import { ClientProcess } from './client-process.js';
import { clientTroubles } from './client-troubles.js';
import { followAll, followSlowly, JobFollower, planFollow } from './job-follower.js';
import { JobsHistory } from './jobs-history.js';
import { JOB_IDS, type JobsPlan, planJobs } from './jobs-plan.js';
import type { RequestMessage } from './link-messages.js';
import { LinkedMachines } from './linked-machines.js';
import type { LifeEnd } from './observed-states.js';
import { runReader } from './reader-process.js';
import { StoreProcess } from './store-process.js';

const COME_UP_MS_MAX = 60_000;
const DRAIN_MS_MAX = 30_000;
const POLL_MS = 50;
/** Messages of a dead client may be in flight for this long. */
const LATE_MS_MAX = 2_100;
/** A lease is declared lost within a second after its ttl, and committing that takes a moment. */
const DECLARE_MS_MAX = 1_200;

export const jobsWorkload: WorkloadEntry = {
  name: 'jobs',
  faults: [
    clientTroubles,
    clockSteps,
    crashPoints,
    crashes,
    failingSyncs,
    fullDisks,
    partitions,
    pauses,
    powerLosses,
    roughNetwork,
    slowDisks,
  ],
  bugs: PLANTED_JOBS_BUGS,
  probes: [
    'jobs/after-kill',
    'jobs/after-power',
    'jobs/duplicate',
    'jobs/failed',
    'jobs/fenced',
    'jobs/gap-compacted',
    'jobs/gap-deleted',
    'jobs/gap-overflow',
    'jobs/gap-reset',
    'jobs/lost',
    'jobs/new-past',
    'jobs/refused',
    'jobs/stopped',
  ],
  async prepare(bug) {
    if (bug !== undefined && isPlantedJobsBug(bug)) await loadPlanted(bug);
  },
  create(bug) {
    assert(bug === undefined || isPlantedJobsBug(bug), `there is no bug ${bug}`);
    return new JobsWorkload(async () => (bug === undefined ? REAL_CODE : loadPlanted(bug)));
  },
};

interface Parts {
  readonly plan: JobsPlan;
  readonly code: JobsCode;
}

class JobsWorkload implements Workload {
  readonly name = 'jobs';
  readonly #loadCode: () => Promise<JobsCode>;
  readonly #history = new JobsHistory();
  /** Inside the store's process. */
  readonly #witnesses = JOB_IDS.flatMap((jobId) =>
    [followAll(jobId), followSlowly(jobId)].map((follow) => new JobFollower(follow)),
  );
  readonly #readers: JobFollower[] = [];
  readonly #clients: SimNode[] = [];
  #process: StoreProcess | undefined;
  #machines: LinkedMachines | undefined;
  #plan: JobsPlan | undefined;
  /** How the previous process of the store ended. */
  #end: LifeEnd = 'kill';
  #isLoading = true;
  #isOver = false;
  #startsCount = 0;
  #textsCount = 0;

  constructor(loadCode: () => Promise<JobsCode>) {
    this.#loadCode = loadCode;
  }

  async setup(context: WorkloadContext): Promise<void> {
    const { simulation, random, targets } = context;
    const plan = planJobs(random.fork('plan'));
    const parts = { plan, code: await this.#loadCode() };
    this.#plan = plan;
    const store = this.#addStore(context, parts);
    targets.push(store);
    const receive = (message: RequestMessage) => this.#process?.receive(message);
    const deps = { simulation, store, receive, random: random.fork('clients') };
    this.#machines = new LinkedMachines(deps, plan.linkTimeoutMs);
    this.#addClients(this.#machines, parts);
    this.#addReaders(this.#machines, parts, random);
    const followers = [...this.#witnesses, ...this.#readers];
    this.#history.traces.push(...followers.map((follower) => () => follower.trace()));
  }

  async start({ simulation }: WorkloadContext): Promise<void> {
    for (const node of simulation.nodes) node.start();
    await simulation.clock.sleep(this.#plan?.runMs ?? 0);
    this.#isLoading = false;
  }

  async check({ simulation }: WorkloadContext): Promise<void> {
    const { clock } = simulation;
    const until = async (isDone: () => boolean, timeoutMs: number, problem: string) => {
      const deadlineMs = simulation.nowMs + timeoutMs;
      while (!isDone()) {
        assert(simulation.nowMs < deadlineMs, problem);
        await clock.sleep(POLL_MS);
      }
    };
    for (const node of this.#clients) node.kill();
    const isUp = () => this.#process?.isServing === true;
    await until(isUp, COME_UP_MS_MAX, 'J3: the store did not come back');
    await clock.sleep(LATE_MS_MAX + (this.#plan?.ttlMs ?? 0) + DECLARE_MS_MAX);
    await this.#process?.checkLost();
    const isSettled = () => this.#process?.isSettled === true;
    await until(isSettled, DRAIN_MS_MAX, 'J3: the rows of deleted jobs were not removed');
    const ends = (await this.#process?.lastCursors()) ?? new Map<string, string>();
    const followers = [...this.#witnesses, ...this.#readers].filter(({ follow }) =>
      ends.has(follow.jobId),
    );
    const areLevel = () => followers.every((follower) => follower.isLevel(ends));
    await until(areLevel, DRAIN_MS_MAX, 'J7: a reader did not receive the last change');
    for (const follower of followers) follower.isDrained = true;
    this.#isOver = true;
    await this.#process?.finish();
    checkWhatWasSeen(this.#history);
  }

  metrics(): Readonly<Record<string, number>> {
    return { lives: this.#history.lives.length, writes: this.#textsCount };
  }

  #addStore({ simulation, random }: WorkloadContext, { plan, code }: Parts): SimNode {
    const node = simulation.addNode('store', async (ports) => {
      this.#process = undefined;
      this.#startsCount += 1;
      this.#process = await StoreProcess.start({
        ports,
        plan,
        history: this.#history,
        open: code.openEmbeddedJobStore,
        random: random.fork(`life/${this.#startsCount}`),
        followers: this.#witnesses,
        reply: (client, message) => this.#machines?.reply(client, message),
        isLoading: () => this.#isLoading,
        takeEnd: () => this.#takeEnd(),
      });
    });
    node.disk.plan = new PowerWatch(node.disk.plan, () => {
      this.#end = 'power';
    });
    return node;
  }

  #addClients(machines: LinkedMachines, { plan, code }: Parts): void {
    for (let index = 1; index <= plan.clientsCount; index += 1) {
      const node = machines.add(`client-${index}`, (linked) => {
        const client = new ClientProcess({
          ...linked,
          plan,
          create: code.createJobManager,
          isLoading: () => this.#isLoading,
          nextText: () => this.#nextText(),
        });
        void client.run();
      });
      this.#clients.push(node);
    }
  }

  #addReaders(machines: LinkedMachines, { plan, code }: Parts, random: SeededRandom): void {
    for (let index = 1; index <= plan.readersCount; index += 1) {
      const follower = new JobFollower(planFollow(random.fork(`follow/${index}`)));
      const create = code.createJobReader;
      const isLoading = () => this.#isLoading;
      const isOver = () => this.#isOver;
      machines.add(`reader-${index}`, (linked) => {
        void runReader({ ...linked, follower, create, isLoading, isOver });
      });
      this.#readers.push(follower);
    }
  }

  #nextText(): string {
    this.#textsCount += 1;
    return `text ${this.#textsCount}`;
  }

  #takeEnd(): LifeEnd {
    const end = this.#end;
    this.#end = 'kill';
    return end;
  }
}
