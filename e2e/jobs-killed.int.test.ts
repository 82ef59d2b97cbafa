// kill -9 of the server at any moment, again and again, while managers and plain stores write and subscribers of every
// scope follow: what was acknowledged is there, versions and revisions go on without a hole, each stream is whole
// over all lives of the server, and a repeat gives the first answer.
//
// JOBS_KILLS says how often; half of them fall upon synced writes alone, half also upon buffered ones. After those all
// cursors reset, since the store cannot know that nothing was lost. JOBS_FIGURES=1 prints what was measured.
import { setTimeout as sleep } from 'node:timers/promises';
import { createJobManager, type JobManager, type JobStore, type State } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { CommittedLog, checkCommitted, checkTrace } from '@syncline/jobs/testing';
import { createSystemRandom, type Durability, randomBelow } from '@syncline/kernel';
import { type ClusterNode, startCluster } from '@syncline/testkit';
import { expect, inject, test, vi } from 'vitest';
import { tell } from './jobs-figures.js';
import { JobsFollower } from './jobs-follower.js';
import { JobsTask } from './jobs-task.js';
import { type JobsWriter, ManagerWriter, RawWriter } from './jobs-writer.js';

const KILLS = Math.ceil(inject('jobsKills') / 2);
/** A job lives over so many lives of its server; then there is another one, so that checking stays quick. */
const LIVES_PER_JOB = 10;
const LIFE_MS_MAX = 400;
const MS_PER_KILL = 30_000;
const NUM_TASKS = 6;
const TTL_MS = 20_000;
const WAIT = { timeout: 60_000, interval: 5 };
const random = createSystemRandom();
/** Comes back soon, and never gives up: the server may be away for a while. */
const reconnect = { attempts: 10_000, initialMs: 50, maxMs: 200 };
const retry = { attempts: 100, initialMs: 20, maxMs: 1_000 };

interface Figures {
  answered: number;
  repeated: number;
  duplicates: number;
  revisions: number;
  events: number;
}

test.concurrent.each<[string, readonly Durability[]]>([
  ['synced', ['synced']],
  ['synced and buffered', ['buffered', 'synced', 'buffered']],
])(
  'J1 J2 J3 J5 J6 J7 J8 J9 J10 J16 kill -9 under %s writes loses nothing and shows nothing twice',
  async (kind, durabilities) => {
    await using cluster = await startCluster({ nodes: 1 });
    const node = cluster.node(1);
    const figures = { answered: 0, repeated: 0, duplicates: 0, revisions: 0, events: 0 };
    for (let done = 0; done < KILLS; done += LIVES_PER_JOB) {
      await using world = await startWorld(node, `job-${done}`, durabilities);
      const kills = Math.min(LIVES_PER_JOB, KILLS - done);
      for (let kill = 0; kill < kills; kill += 1) await world.kill(kill);
      await world.finish(kills, figures);
    }
    expect(figures.answered).toBeGreaterThan(KILLS * 10);
    tell(
      `${kind}: ${KILLS} kills, ${figures.answered} writes acknowledged, 0 lost; ${figures.repeated} repeats of answered writes and ${figures.duplicates} of others gave the first answer; ${figures.revisions} revisions, ${figures.events} events checked`,
    );
  },
  30_000 + KILLS * MS_PER_KILL,
);

/** One job with its writers and followers. */
class KillWorld implements AsyncDisposable {
  readonly #node: ClusterNode;
  readonly #jobId: string;
  readonly #stores: readonly JobStore[];
  readonly #managers: readonly JobManager[];
  readonly #writers: readonly JobsWriter[];
  readonly #log: CommittedLog;
  readonly #followers: readonly JobsFollower[];
  readonly #ended: Promise<unknown>;
  #isOver = false;
  #failure: unknown;
  #startMs = LIFE_MS_MAX;

  constructor(
    node: ClusterNode,
    options: {
      readonly jobId: string;
      readonly stores: readonly JobStore[];
      readonly managers: readonly JobManager[];
      readonly writers: readonly JobsWriter[];
      readonly log: CommittedLog;
      readonly followers: readonly JobsFollower[];
    },
  ) {
    this.#node = node;
    this.#jobId = options.jobId;
    this.#stores = options.stores;
    this.#managers = options.managers;
    this.#writers = options.writers;
    this.#log = options.log;
    this.#followers = options.followers;
    this.#ended = Promise.all(this.#writers.map((writer) => writer.run(() => this.#isOver)));
    this.#ended.catch((thrown: unknown) => {
      this.#failure = thrown;
    });
  }

  /** One life of the server and its end. */
  async kill(index: number): Promise<void> {
    if (index % 2 === 0) await vi.waitFor(this.#whenAtWork(), WAIT);
    await sleep(randomBelow(random, LIFE_MS_MAX));
    await this.#node.kill();
    const shown = this.#followers.map(({ revision }) => revision);
    const acknowledged = this.#writers.map((writer) => new Map(writer.acknowledged));
    if (index % 4 === 2) await this.#killWhileStarting();
    const beganMs = performance.now();
    await this.#node.start();
    this.#startMs = performance.now() - beganMs;
    await this.#expectAllThere(acknowledged, Math.max(...shown));
    this.#expectNoProblems();
  }

  /** Lets all come to their end, and checks what they saw. */
  async finish(kills: number, figures: Figures): Promise<void> {
    await vi.waitFor(this.#whenAtWork(), WAIT);
    this.#isOver = true;
    await this.#ended;
    const job = await this.#stores[0]?.getJob(this.#jobId);
    await vi.waitFor(() => {
      this.#expectNoProblems();
      expect(this.#followers[0]?.revision).toBeGreaterThanOrEqual(job?.revision ?? 0);
      for (const follower of this.#followers) expect(follower.isLevel).toBe(true);
    }, WAIT);
    await Promise.all(this.#followers.map((follower) => follower.stop()));
    expect(checkCommitted(this.#log, { mayMiss: false })).toEqual([]);
    for (const follower of this.#followers) {
      const trace = follower.trace();
      expect(checkTrace(trace).slice(0, 5)).toEqual([]);
      expect(follower.count('lease', isLost)).toBe(0);
      figures.events += trace.parts.reduce((sum, { events }) => sum + events.length, 0);
    }
    // Those that go on by themselves have lost every server.
    expect(this.#followers[0]?.count('stale')).toBeGreaterThanOrEqual(kills);
    const cuts = this.#followers.reduce((sum, { cutsCount }) => sum + cutsCount, 0);
    expect(cuts).toBeGreaterThanOrEqual(kills);
    figures.revisions += job?.revision ?? 0;
    for (const { counts } of this.#writers) {
      figures.answered += counts.answered;
      figures.repeated += counts.repeated;
      figures.duplicates += counts.duplicates;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#followers.map((follower) => follower.stop()));
    await Promise.all(this.#stores.map((store) => store.close()));
    await Promise.all(this.#managers.map((manager) => manager.close()));
  }

  async #killWhileStarting(): Promise<void> {
    const { pid } = this.#node;
    const start = this.#node.start().catch(() => undefined); // it was not to be
    await vi.waitFor(() => expect(this.#node.pid).not.toBe(pid), WAIT);
    await sleep(randomBelow(random, Math.ceil(this.#startMs)));
    await this.#node.kill();
    await start;
  }

  /** Read from the new server, whatever its writers have done since. */
  async #expectAllThere(
    acknowledged: readonly ReadonlyMap<string, State>[],
    shownRevision: number,
  ): Promise<void> {
    await using store = createRemoteJobStore({ address: this.#node.url('grpc') });
    const page = await store.listStates(this.#jobId, {}, { afterRevision: 0, limit: 1_000 });
    expect(page.more).toBe(false);
    expect(page.revision).toBeGreaterThanOrEqual(shownRevision);
    const there = new Map(page.states.map((state) => [`${state.taskId} ${state.tag}`, state]));
    for (const state of acknowledged.flatMap((states) => [...states.values()])) {
      const found = there.get(`${state.taskId} ${state.tag}`);
      expect(found?.version).toBeGreaterThanOrEqual(state.version);
      if (found?.version === state.version) expect(found).toEqual(state);
    }
  }

  /** Passes once each writer was answered again. The other lives end at any moment, also before that. */
  #whenAtWork(): () => void {
    const before = this.#writers.map(({ counts }) => counts.answered);
    return () => {
      this.#expectNoProblems();
      for (const [index, { counts }] of this.#writers.entries())
        expect(counts.answered).toBeGreaterThan((before[index] ?? 0) + 5);
    };
  }

  #expectNoProblems(): void {
    if (this.#failure !== undefined) throw asError(this.#failure);
    for (const { problems } of this.#writers) expect(problems).toEqual([]);
    for (const { error } of this.#followers) if (error !== undefined) throw asError(error);
  }
}

async function startWorld(
  node: ClusterNode,
  jobId: string,
  durabilities: readonly Durability[],
): Promise<KillWorld> {
  const address = node.url('grpc');
  const stores = Array.from({ length: 3 }, () => createRemoteJobStore({ address, reconnect }));
  const [first, second, third] = stores as [JobStore, JobStore, JobStore];
  const log = new CommittedLog();
  const { job } = await first.createJob({ jobId, numTasks: NUM_TASKS });
  log.addJob(job);
  const onAnswer = (state: State) => log.addState(job.incarnation, state);
  const raw = { durabilities, random, onAnswer };
  const claim = (store: JobStore, taskId: number) => JobsTask.claim(store, { jobId, taskId });
  const open = (store: JobStore, taskIndex: number) =>
    createJobManager(
      { store, jobId, taskIndex, numTasks: NUM_TASKS },
      { retry, timeoutMs: 120_000, lease: { ttlMs: TTL_MS } },
    );
  const tasks = [await claim(first, 0), await claim(second, 1)];
  const managers = [await open(first, 2), await open(second, 3)];
  const scopes = [{}, { tag: 'ingest' }, { taskId: 1 }, { taskId: 2, tag: 'parse' }];
  return new KillWorld(node, {
    jobId,
    stores,
    managers,
    log,
    writers: [
      ...tasks.map((task) => new RawWriter(task, raw)),
      ...managers.map((manager) => new ManagerWriter(manager, random, onAnswer)),
    ],
    followers: [
      new JobsFollower(third, log, { jobId, scope: {}, isWhole: true }),
      ...scopes.map((scope) => new JobsFollower(third, log, { jobId, scope })),
      ...scopes.map((scope) => new JobsFollower(second, log, { jobId, scope, cuts: random })),
    ],
  });
}

function isLost(event: { readonly kind: string }): boolean {
  return 'lease' in event && (event.lease as { readonly state: string }).state === 'lost';
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly jobsKills: number;
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
