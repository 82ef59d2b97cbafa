// The process of the store: the real embedded store over the simulated disk, with links to its clients. Before it
// serves, what it found on disk is compared with what clients were shown; while it serves, followers inside the
// process see everything.
import type { JobStore, openEmbeddedJobStore } from '@syncline/jobs';
import { TimerCount } from '@syncline/jobs/testing';
import { assert, type Storage, SynclineError } from '@syncline/kernel';
import type { SeededRandom, SimPorts } from '@syncline/kernel/testing';
import { checkProgress, hasUnfinished, readJobs } from './found-jobs.js';
import type { JobFollower } from './job-follower.js';
import { type JobsHistory, StoreLife } from './jobs-history.js';
import type { JobsPlan } from './jobs-plan.js';
import { LeaseTimes } from './lease-times.js';
import type { ReplyMessage, RequestMessage } from './link-messages.js';
import type { LifeEnd } from './observed-states.js';
import { ObservedStore } from './observed-store.js';
import { StoreServer } from './store-server.js';
import { rowsOfGoneJobs } from './stored-rows.js';
import { WatchedStorage } from './watched-storage.js';

type Store = Awaited<ReturnType<typeof openEmbeddedJobStore>>;

/** How long a store with a failed disk stays up, so that it can be read. */
const FAILED_MS_MAX = 500;
const LOOK_MS = 100;

export interface StoreProcessDeps {
  readonly ports: SimPorts;
  readonly history: JobsHistory;
  readonly plan: JobsPlan;
  readonly random: SeededRandom;
  readonly open: typeof openEmbeddedJobStore;
  /** Followers inside the process. */
  readonly followers: readonly JobFollower[];
  readonly reply: (client: string, message: ReplyMessage) => void;
  readonly isLoading: () => boolean;
  /** How the previous process ended. Called once, when the store has been read. */
  readonly takeEnd: () => LifeEnd;
}

interface OpenedStore {
  readonly storage: Storage;
  readonly store: Store;
  readonly timers: TimerCount;
  readonly startMs: number;
}

export class StoreProcess {
  readonly #deps: StoreProcessDeps;
  readonly #store: Store;
  readonly #observed: ObservedStore;
  readonly #storage: Storage;
  readonly #server: StoreServer;
  readonly #timers: TimerCount;
  readonly #following: Promise<unknown>;
  #isStopping = false;

  private constructor(deps: StoreProcessDeps, { storage, store, timers, startMs }: OpenedStore) {
    const { history, ports, reply } = deps;
    const { clock } = ports;
    this.#deps = deps;
    this.#storage = storage;
    this.#store = store;
    this.#timers = timers;
    const life = new StoreLife();
    history.lives.push(life);
    const leases = new LeaseTimes(history.records, startMs);
    const probe = (name: string) => ports.chaos.probe(name);
    this.#observed = new ObservedStore({ inner: store, clock, history, life, leases, probe });
    this.#server = new StoreServer({ store: this.#observed, clock, reply });
    this.#following = Promise.all(deps.followers.map((follower) => this.#follow(follower)));
    void this.#endInTime();
  }

  static async start(deps: StoreProcessDeps): Promise<StoreProcess> {
    const { ports, history } = deps;
    const { clock, chaos } = ports;
    const inner = await ports.openStorage('jobs');
    await inner.whenReadable();
    await history.records.recover(inner);
    const storage = new WatchedStorage({
      inner,
      clock,
      records: history.records,
      onFailed: (isFull) => chaos.probe(isFull ? 'jobs/refused' : 'jobs/failed'),
    });
    const timers = new TimerCount(clock);
    const startMs = clock.monotonicMs();
    try {
      const store = await deps.open({ ...ports, clock: timers, storage }, deps.plan.store);
      await recover(deps, store);
      return new StoreProcess(deps, { storage, store, timers, startMs });
    } catch (thrown) {
      const isDamage = thrown instanceof SynclineError && thrown.code === 'corrupt';
      if (isDamage) assert(false, `J3: what was written cannot be read back: ${thrown.message}`);
      throw thrown;
    }
  }

  /** Whether it runs and will not end by itself. */
  get isServing(): boolean {
    return !this.#isStopping && this.#storage.health().kind !== 'failed';
  }

  receive(message: RequestMessage): void {
    if (!this.#isStopping) this.#server.receive(message);
  }

  /** J18 A task that is silent for longer than its ttl loses its lease, unless it has nothing left to do. */
  async checkLost(): Promise<void> {
    for (const found of await readJobs(this.#store)) {
      for (const { taskId, state, ttlMs } of found.leases) {
        const isSilent = state === 'held' && ttlMs > 0 && hasUnfinished(found, taskId);
        const { incarnation } = found.job;
        assert(!isSilent, `J18: task ${taskId} of job ${incarnation} is silent and not lost`);
      }
    }
  }

  /** The cursor of a subscriber that has seen all of a job. */
  async lastCursors(): Promise<ReadonlyMap<string, string>> {
    const found = await readJobs(this.#store);
    return new Map(found.map(({ job, past, revision }) => [job.jobId, `${past}:${revision}`]));
  }

  /** Rows of deleted jobs may still be waiting for removal. */
  get isSettled(): boolean {
    return this.#store.status().deletions === 0;
  }

  /** A clean stop, which must leave no timers or handles behind. */
  async finish(): Promise<void> {
    await this.#close();
    const rows = await rowsOfGoneJobs(this.#storage);
    assert(rows.length === 0, `J3: deleted jobs have left the rows ${rows.join(', ')}`);
  }

  async #close(): Promise<void> {
    this.#isStopping = true;
    await this.#server.close();
    await this.#store.close();
    await this.#following;
    const { subscribers, openSnapshots, writeQueue } = this.#store.status();
    const left = { subscribers, openSnapshots, writeQueue, timers: this.#timers.pending };
    const isNothing = Object.values(left).every((count) => count === 0);
    assert(isNothing, `J21: a closed store has left ${JSON.stringify(left)}`);
  }

  #follow(follower: JobFollower): Promise<void> {
    const { ports, random, isLoading } = this.#deps;
    const { jobId } = follower.follow;
    const deps = {
      isLoading,
      clock: ports.clock,
      random: random.fork(`follower/${jobId}/${follower.follow.overflow}`),
      subscribe: (options: Parameters<JobStore['subscribe']>[1]) =>
        this.#observed.subscribe(jobId, options),
    };
    return follower.run(deps, () => this.#isStopping);
  }

  /** Stops cleanly after a while, in runs with clean stops; and ends a process whose disk has failed. */
  async #endInTime(): Promise<void> {
    const { ports, plan, random, isLoading } = this.#deps;
    const { clock } = ports;
    const chance = random.fork('end');
    const stopMs = clock.monotonicMs() - plan.stopAfterMs * Math.log(1 - chance.float());
    while (!this.#isStopping) {
      await clock.sleep(LOOK_MS * chance.float());
      if (this.#storage.health().kind === 'failed') {
        await clock.sleep(FAILED_MS_MAX * chance.float());
        return ports.exit('the disk has failed');
      }
      if (clock.monotonicMs() < stopMs || !isLoading() || this.#isStopping) continue;
      await this.#close();
      ports.chaos.probe('jobs/stopped');
      ports.exit('stopped');
    }
  }
}

/** Compares what a new process has found with what its predecessors have shown. */
async function recover({ history, ports, takeEnd }: StoreProcessDeps, store: Store): Promise<void> {
  const found = await readJobs(store, (event) => history.learn(event));
  for (const one of found) {
    history.records.found(one.job.incarnation, one.revision);
    if (!history.pasts.has(one.past)) ports.chaos.probe('jobs/new-past');
    history.pasts.add(one.past);
    await checkProgress(store, one);
  }
  const end = takeEnd();
  const gone = history.jobs.recover(found);
  for (const incarnation of gone) history.states.forget(incarnation);
  for (const { job, states } of found) history.states.recover(job.incarnation, states, end);
  if (found.length > 0) ports.chaos.probe(`jobs/after-${end}`);
}
