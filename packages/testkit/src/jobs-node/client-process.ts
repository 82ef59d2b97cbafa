// The process of a client: one manager after another, like a worker that is restarted again and again. Some managers
// are closed, some are abandoned, and some wake up later, long after their task was taken over.
import { type createJobManager, type JobManager, JobStatus, type JobStore } from '@syncline/jobs';
import { TimerCount } from '@syncline/jobs/testing';
import { assert, type Durability, SynclineError, silentLogger } from '@syncline/kernel';
import type { SeededRandom, SimPorts } from '@syncline/kernel/testing';
import { EXPECTED_TAG, JOB_IDS, type JobsPlan, pick, TAGS } from './jobs-plan.js';

/** Errors that a call may end with under faults. */
const EXPECTED_CODES: ReadonlySet<string> = new Set([
  'aborted',
  'conflict',
  'fenced',
  'not-found',
  'overloaded',
  'storage-failed',
  'storage-full',
  'timeout',
  'unavailable',
]);
/** Written to each tag without waiting: more than a small buffer holds. */
const BURST_WRITES = 5;
const STATUSES = [1, 20, JobStatus.finished, JobStatus.error, JobStatus.warning, -7] as const;

export interface ClientProcessDeps {
  readonly ports: SimPorts;
  readonly store: JobStore;
  readonly plan: JobsPlan;
  readonly random: SeededRandom;
  readonly create: typeof createJobManager;
  readonly isLoading: () => boolean;
  /** A message that no other write has. */
  readonly nextText: () => string;
}

export class ClientProcess {
  readonly #deps: ClientProcessDeps;
  /** Managers that were abandoned. */
  readonly #zombies: JobManager[] = [];

  constructor(deps: ClientProcessDeps) {
    this.#deps = deps;
  }

  async run(): Promise<void> {
    const { ports, random, plan, isLoading } = this.#deps;
    while (isLoading()) {
      await this.#unlessFailed(() => this.#session());
      const index = Math.floor(random.float() * 3 * this.#zombies.length);
      const zombie = this.#zombies[index];
      if (zombie) await this.#unlessFailed(() => this.#write(zombie));
      await ports.clock.sleep(2 * plan.betweenMsMax * random.float());
    }
  }

  async #session(): Promise<void> {
    const { ports, random } = this.#deps;
    const timers = new TimerCount(ports.clock);
    const manager = await this.#open(timers);
    for (let left = Math.floor(random.float() * 8); left > 0; left -= 1) {
      await this.#unlessFailed(() => this.#step(manager));
      await ports.clock.sleep(this.#deps.plan.betweenMsMax * random.float());
    }
    if (random.float() < 0.3) {
      this.#zombies.push(manager);
      return;
    }
    await manager.close();
    assert(timers.pending === 0, `J21: a closed manager has left ${timers.pending} timers`);
  }

  #open(clock: TimerCount): Promise<JobManager> {
    const { store, plan, random, create } = this.#deps;
    const numTasks = random.float() < 0.7 ? plan.numTasks : pick(random, [2, 4]);
    const taskIndex = Math.floor(random.float() * Math.min(numTasks, plan.numTasks));
    const heartbeat = pick(random, ['auto', 'manual'] as const);
    return create(
      { store, jobId: pick(random, JOB_IDS), taskIndex, numTasks },
      {
        tags: Object.fromEntries(TAGS.map((tag) => [tag, { expected: tag === EXPECTED_TAG }])),
        lease: random.float() < 0.2 ? false : { ttlMs: plan.ttlMs, heartbeat },
        timeoutMs: pick(random, [1_500, 5_000]),
        retry: { initialMs: 10, maxMs: 200 },
        log: silentLogger, // outages are what is simulated
      },
      { clock, random },
    );
  }

  async #step(manager: JobManager): Promise<void> {
    const { random, plan } = this.#deps;
    const draw = random.float();
    if (draw < 0.1) return void (await manager.heartbeat());
    if (draw < 0.15) return void (await manager.getProgress());
    if (draw < 0.25) {
      for await (const _state of manager.listStates({ taskId: manager.taskId }));
      return;
    }
    if (draw < 0.3)
      return void (await manager.updateJob({ labels: { by: this.#deps.nextText() } }));
    if (draw < 0.35) {
      const expectedTags = TAGS.filter(() => random.float() < 0.5);
      return void (await manager.updateJob({ expectedTags }));
    }
    if (draw < 0.35 + 0.1 * plan.deletePart) return void (await manager.markJobDeleted());
    if (draw < 0.35 + 0.4 * plan.deletePart) return void (await manager.deleteJob());
    const tags = TAGS.filter(() => random.float() < 0.5);
    const times = random.float() < 0.3 ? BURST_WRITES : 1;
    const writes = Array.from({ length: times }, () => tags).flat();
    await Promise.all(writes.map((tag) => this.#write(manager, tag)));
  }

  /** J2 The reply contains the write itself, whatever happened on the way. */
  async #write(manager: JobManager, tag = pick(this.#deps.random, TAGS)): Promise<void> {
    const { random, plan, nextText } = this.#deps;
    const durability: Durability = random.float() < plan.bufferedPart ? 'buffered' : 'synced';
    const write = { tag, durability, message: nextText(), status: pick(random, STATUSES) };
    const ifVersion = random.float() < 0.1 ? Math.floor(random.float() * 4) : undefined;
    const result =
      ifVersion === undefined
        ? await manager.setState(write)
        : await manager.setState({ ...write, ifVersion });
    if (!result.applied) return;
    const { message, status } = result.state;
    const isIt = message === write.message && status === write.status;
    assert(isIt, `J2: "${write.message}" was written, but the reply is "${message}"`);
  }

  async #unlessFailed(act: () => Promise<void>): Promise<void> {
    const { ports } = this.#deps;
    try {
      await act();
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      // A job created by another client may have fewer tasks.
      const isOutside = thrown.code === 'invalid-argument' && thrown.message.includes('task');
      assert(
        isOutside || EXPECTED_CODES.has(thrown.code),
        `a client got ${thrown.code}: ${thrown.message}`,
      );
      if (thrown.code === 'fenced') ports.chaos.probe('jobs/fenced');
    }
  }
}
