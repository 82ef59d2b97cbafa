// The embedded store under crashes, power losses, full, slow and failing disks, compared with what it has
// acknowledged and shown.
//
// The model remembers every reply and every event. After each restart nothing may be missing that was acknowledged
// with sufficient durability for the kind of crash, every stored state must have been written by someone, and a
// cursor's base and revision must identify the same change forever. `JOBS_CRASH_SEEDS=2000 npx vitest run --project
// sim packages/jobs/src/embedded/embedded-crash` runs more.
import { type Clock, type Durability, SynclineError } from '@syncline/kernel';
import { type SeededRandom, type SimPorts, Simulation } from '@syncline/kernel/testing';
import { expect, inject, test } from 'vitest';
import { impatientStore } from '../conformance/impatient-store.js';
import { foldStates } from '../conformance/naive-fold.js';
import { hasCode } from '../core/refusals.js';
import type { State } from '../job.js';
import type { Cursor, JobStore, StateWrite } from '../job-store.js';
import { openEmbeddedJobStore } from './embedded-adapter.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsCrashSeeds: number;
  }
}

const LIVES = 5;
const TASKS = 3;
const TAGS = Array.from({ length: 12 }, (_, index) => `tag ${index}`);
/** The fraction of calls that are abandoned before a slow disk replies. */
const IMPATIENT_SHARE = 0.1;
const PATIENCE_MS = 20;
const STOP_MS_MAX = 5_000;
const STATUSES = [-7, -2, -1, 0, 1, 20, 2_147_483_647];

const EXPECTED_CODES = [
  'aborted',
  'closed',
  'fenced',
  'not-found',
  'unavailable',
  'storage-full',
  'storage-failed',
];

/** `stopped`: closed cleanly first; then the power is lost. */
type Ending = 'kill' | 'power' | 'stopped';
type Claim = Pick<StateWrite, 'jobId' | 'incarnation' | 'taskId' | 'epoch'>;

interface Write {
  readonly write: StateWrite;
  /** Set when it was acknowledged, or seen by a subscriber. */
  state?: State;
}

/** What happened in all runs, so that it is noticed if the test no longer reaches it. */
const seen = {
  synced: 0,
  buffered: 0,
  aborted: 0,
  full: 0,
  failed: 0,
  resets: 0,
  resumed: 0,
  deleted: 0,
  stopped: 0,
};

class SaidAndSeen {
  /** By event id. */
  readonly writes = new Map<string, Write>();
  /** The change at each revision of a base. */
  readonly #meanings = new Map<string, string>();
  readonly #epochs = new Set<string>();

  remember(base: string, state: State): void {
    const place = `${base}:${state.revision}`;
    const before = this.#meanings.get(place) ?? state.eventId;
    if (state.eventId !== before) expect(state.eventId, `J3 ${place} is one change`).toBe(before);
    this.#meanings.set(place, before);
  }

  claimed(incarnation: string, taskId: number, epoch: number): void {
    const name = `${incarnation}/${taskId}/${epoch}`;
    expect(this.#epochs.has(name), `J3 epoch ${name} is assigned once`).toBe(false);
    this.#epochs.add(name);
  }

  /** The states that a new process has found for an incarnation. */
  recover(incarnation: string, states: readonly State[], end: Ending): void {
    const found = new Map(states.map((state) => [`${state.taskId} ${state.tag}`, state]));
    for (const state of states) {
      const write = this.writes.get(state.eventId);
      expect(write?.write, 'J3 every stored state was written').toMatchObject({
        status: state.status,
        message: state.message,
        incarnation,
      });
      if (write?.state) expect(state, 'J3 a write does not change').toEqual(write.state);
    }
    for (const { write, state } of this.writes.values()) {
      const isSafe = end === 'kill' || write.durability === 'synced';
      if (!state || !isSafe || write.incarnation !== incarnation) continue;
      const version = found.get(`${write.taskId} ${write.tag}`)?.version ?? 0;
      if (version < state.version)
        expect.fail(`J3 ${write.eventId} was acknowledged as version ${state.version}`);
    }
    // What a power loss took never existed: its versions are assigned again.
    const isThere = new Set(states.map(({ eventId }) => eventId));
    for (const [eventId, { write }] of this.writes) {
      const isMine = write.incarnation === incarnation && write.durability === 'buffered';
      if (end !== 'kill' && isMine && !isThere.has(eventId)) this.writes.delete(eventId);
    }
  }
}

class World {
  readonly said = new SaidAndSeen();
  end: Ending = 'kill';
  store: JobStore | undefined;
  /** The position of the subscriber that follows everything, across all restarts. */
  #cursor: Cursor | undefined;
  #count = 0;
  /** Without buffered writes, cursors stay valid across all restarts; with many, whole batches of them are lost. */
  readonly #bufferedShare: number;
  readonly #chance: SeededRandom;
  readonly #onFault: (error: unknown) => void;

  constructor(chance: SeededRandom, onFault: (error: unknown) => void) {
    this.#bufferedShare = pick(chance, [0, 0.4, 0.95]);
    this.#chance = chance;
    this.#onFault = onFault;
  }

  async boot(ports: SimPorts): Promise<void> {
    this.store = undefined;
    const storage = await ports.openStorage('jobs');
    const opened = await openEmbeddedJobStore(
      { ...ports, storage },
      {
        retentionRevisionsMax: 20,
        compactionKeysMax: 4,
        memoryRevisionsMax: 8,
        cacheBytesMax: this.#chance.float() < 0.3 ? 1 : 1_000_000,
      },
    );
    await this.#check(opened).catch((thrown: unknown) => {
      // A process that fails to start is restarted; one that cannot read what it wrote is a bug.
      if (hasCode(thrown, 'corrupt')) this.#onFault(thrown);
      throw thrown;
    });
    const store = impatientStore(opened, {
      clock: ports.clock,
      random: this.#chance,
      share: IMPATIENT_SHARE,
      patienceMs: PATIENCE_MS,
    });
    this.end = 'kill';
    this.store = store;
    const guard = (running: Promise<void>) => void running.catch(this.#onFault);
    for (let client = 0; client < 4; client += 1) guard(this.#client(store, ports));
    guard(this.#follow(store, ports));
  }

  /** What is in flight is answered, and counts. A process whose disk fails in the meantime never gets there. */
  async stop(clock: Pick<Clock, 'sleep'>): Promise<void> {
    const closed = this.store?.close().then(() => {
      seen.stopped += 1;
    });
    await Promise.race([closed, clock.sleep(STOP_MS_MAX)]);
  }

  async #check(store: JobStore): Promise<void> {
    const { jobs } = await store.listJobs({});
    for (const { job } of jobs) while (!(await this.#checkJob(store, job.jobId)));
  }

  /** False: on a slow disk leases were lost in the meantime, so what was read mixes two moments. */
  async #checkJob(store: JobStore, jobId: string): Promise<boolean> {
    const { jobs } = await store.listJobs({ prefix: jobId });
    for (const { job, cells, lostTasks } of jobs) {
      const states: State[] = [];
      for (let more = true; more; ) {
        const afterRevision = states.at(-1)?.revision ?? 0;
        const page = await store.listStates(job.jobId, {}, { afterRevision, limit: 2 });
        states.push(...page.states);
        more = page.more;
      }
      this.said.recover(job.incarnation, states, this.end);
      const progress = await store.aggregate(job.jobId, {});
      const lost = await store.listLost(job.jobId);
      const lostTaskIds = new Set(lost.map(({ taskId }) => taskId));
      if ((await store.getJob(jobId))?.revision !== job.revision) return false;
      expect(progress).toEqual(foldStates({ job, states, lostTaskIds }, {}));
      expect({ cells, lostTasks }).toEqual({ cells: progress.cells, lostTasks: lostTaskIds.size });
    }
    return true;
  }

  async #client(store: JobStore, { clock, exit }: SimPorts): Promise<void> {
    const chance = this.#chance;
    while (this.store === store) {
      try {
        await this.#session(store);
      } catch (thrown) {
        if (!(thrown instanceof SynclineError)) throw thrown;
        expect(EXPECTED_CODES).toContain(thrown.code);
        if (thrown.code === 'aborted') seen.aborted += 1;
        if (thrown.code === 'storage-full') seen.full += 1;
        if (thrown.code === 'storage-failed') {
          seen.failed += 1;
          return exit('the disk failed');
        }
      }
      await clock.sleep(chance.float() ** 3 * 100);
    }
  }

  async #session(store: JobStore): Promise<void> {
    const chance = this.#chance;
    const jobId = pick(chance, ['a', 'b']);
    const { job } = await store.createJob({ jobId, numTasks: TASKS, expectedTags: ['load'] });
    const taskId = chance.u32() % TASKS;
    const { incarnation } = job;
    const claim = { jobId, incarnation, taskId, epoch: 0, ttlMs: 1_000, holder: 'client' };
    const { epoch } = await store.lease({ ...claim, action: 'claim' });
    this.said.claimed(incarnation, taskId, epoch);
    for (let count = chance.u32() % 12; count > 0; count -= 1) {
      const tags = TAGS.filter(() => chance.float() ** 2 < 0.02);
      tags.push('load');
      await Promise.all(tags.map((tag) => this.#write(store, { ...claim, epoch }, tag)));
      if (chance.float() < 0.1) await store.aggregate(jobId, {});
    }
    const dice = chance.float();
    if (dice < 0.1) await store.updateJob(jobId, { expectedTags: TAGS.slice(0, 2) });
    if (dice > 0.97) seen.deleted += Number(await store.deleteJob(jobId));
  }

  async #write(
    store: JobStore,
    { jobId, incarnation, taskId, epoch }: Claim,
    tag: string,
  ): Promise<void> {
    const chance = this.#chance;
    this.#count += 1;
    const isBuffered = chance.float() < this.#bufferedShare;
    const durability: Durability = isBuffered ? 'buffered' : 'synced';
    const eventId = `event-${this.#count}`;
    const status = pick(chance, STATUSES);
    const message = `m${this.#count}`;
    const write = {
      jobId,
      incarnation,
      taskId,
      epoch,
      tag,
      status,
      message,
      eventId,
      durability,
      schemaVersion: 1,
    };
    const entry: Write = { write };
    this.said.writes.set(eventId, entry);
    const result = await store.setState(write);
    if (this.store !== store) return; // the process is gone, and so is its reply
    if (!result.applied) throw new Error('no write names a version');
    entry.state = result.state;
    seen[durability] += 1;
    if (chance.float() < 0.2) {
      const again = await store.setState(write);
      if (again.applied) expect(again.state.version, 'J2').toBe(result.state.version);
    }
  }

  /** Sees every change of job `a` that it can, across all restarts. */
  async #follow(store: JobStore, { clock }: SimPorts): Promise<void> {
    while (this.store === store) {
      try {
        const after = this.#cursor;
        const options = { scope: {}, ...(after && { after }) };
        for await (const event of store.subscribe('a', options)) {
          if (this.store !== store) return;
          if (event.kind === 'gap' && event.reason === 'reset') seen.resets += 1;
          if (event.kind === 'synced' && event.resumed) seen.resumed += 1;
          if (!('cursor' in event)) continue;
          this.#cursor = event.cursor;
          if (event.kind !== 'change' && event.kind !== 'snapshot') continue;
          this.said.remember(event.cursor.split(':')[0] ?? '', event.state);
          const entry = this.said.writes.get(event.state.eventId);
          if (entry) entry.state ??= event.state; // J4: seen is as good as acknowledged
        }
      } catch (thrown) {
        if (!(thrown instanceof SynclineError)) throw thrown;
      }
      await clock.sleep(10);
    }
  }
}

function pick<T>(chance: SeededRandom, list: readonly T[]): T {
  return list[chance.u32() % list.length] as T;
}

async function run(seed: number): Promise<void> {
  const simulation = new Simulation({ seed });
  const chance = simulation.random.fork('lives');
  let fault: { readonly error: unknown } | undefined;
  const world = new World(simulation.random.fork('clients'), (error) => {
    fault ??= { error };
  });
  const node = simulation.addNode('server', (ports) => world.boot(ports));
  await simulation.run(async () => {
    for (let life = 0; life < LIVES; life += 1) {
      node.disk.adjust({ syncFailureProbability: 0, isFull: false });
      node.start();
      for (let waited = 0; !world.store && waited < 500; waited += 1) {
        await simulation.clock.sleep(10);
      }
      if (chance.float() < 0.3) node.disk.adjust({ slowProbability: 0.1, slowMsMax: 500 });
      await simulation.clock.sleep(chance.float() * 400);
      const isFull = chance.float() < 0.3;
      if (isFull) node.disk.adjust({ isFull: true });
      await simulation.clock.sleep(chance.float() * 150);
      if (isFull && chance.float() < 0.7) node.disk.adjust({ isFull: false });
      if (chance.float() < 0.15) node.disk.adjust({ syncFailureProbability: 0.2 });
      await simulation.clock.sleep(chance.float() * 400);
      if (fault) throw fault.error;
      const end = pick<Ending>(chance, ['kill', 'power', 'stopped']);
      if (end === 'stopped') await world.stop(simulation.clock);
      world.end = end; // not before: a process that fails in the meantime and comes back has not lost power
      world.store = undefined;
      if (world.end === 'kill') node.kill();
      else node.losePower();
    }
  });
}

const seeds = inject('jobsCrashSeeds');
test.each(Array.from({ length: seeds }, (_, seed) => seed))(
  'J3 J4 what was acknowledged or seen survives; seed %i',
  (seed) => run(seed),
);

test('J3 the runs above reached the states that they are meant to test', () => {
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
});
