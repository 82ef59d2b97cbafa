// A job with writers and followers of every kind, while the process that stores it is killed and restarted: a server,
// or the database behind several.
import { setTimeout as sleep } from 'node:timers/promises';
import { createJobManager, type JobManager, type JobStore, type State } from '@syncline/jobs';
import { CommittedLog, checkCommitted, checkTrace } from '@syncline/jobs/testing';
import { createSystemRandom, type Durability, randomBelow } from '@syncline/kernel';
import { expect, vi } from 'vitest';
import { JobsFollower } from './jobs-follower.js';
import { JobsTask } from './jobs-task.js';
import { type JobsWriter, ManagerWriter, RawWriter } from './jobs-writer.js';

/** What is killed, and how to reach the jobs. */
export interface Victim {
  /** The id of a process that can be killed while it starts. */
  readonly pid?: number;
  kill(): Promise<unknown>;
  start(): Promise<void>;
  open(): JobStore | Promise<JobStore>;
}

const LIFE_MS_MAX = 400;
const NUM_TASKS = 6;
const TTL_MS = 20_000;
const WAIT = { timeout: 60_000, interval: 5 };
const random = createSystemRandom();
const retry = { initialMs: 20, maxMs: 1_000 };

export interface KillFigures {
  answered: number;
  repeated: number;
  duplicates: number;
  revisions: number;
  events: number;
}

/** One job with its writers and followers. */
export class KillLoad implements AsyncDisposable {
  readonly #victim: Victim;
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
  /** Kills that the first follower must have noticed: it was receiving events just before. */
  #noticedKills = 0;

  constructor(
    victim: Victim,
    options: {
      readonly jobId: string;
      readonly stores: readonly JobStore[];
      readonly managers: readonly JobManager[];
      readonly writers: readonly JobsWriter[];
      readonly log: CommittedLog;
      readonly followers: readonly JobsFollower[];
    },
  ) {
    this.#victim = victim;
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

  /** One run of the server until it is killed. */
  async kill(index: number): Promise<void> {
    if (index % 2 === 0) await vi.waitFor(this.#whenAtWork(), WAIT);
    await sleep(randomBelow(random, LIFE_MS_MAX));
    if (this.#followers[0]?.isConnected) this.#noticedKills += 1;
    await this.#victim.kill();
    const shown = this.#followers.map(({ revision }) => revision);
    const acknowledged = this.#writers.map((writer) => new Map(writer.acknowledged));
    if (index % 4 === 2 && this.#victim.pid !== undefined) await this.#killWhileStarting();
    const beganMs = performance.now();
    await this.#victim.start();
    this.#startMs = performance.now() - beganMs;
    await this.#expectAllThere(acknowledged, Math.max(...shown));
    this.#expectNoProblems();
  }

  /** Lets all writers and followers finish, and checks what they saw. */
  async finish(kills: number, figures: KillFigures): Promise<void> {
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
    expect(checkCommitted(this.#log, { mayMiss: false, history: 'all' })).toEqual([]);
    for (const follower of this.#followers) {
      const trace = follower.trace();
      expect(checkTrace(trace).slice(0, 5)).toEqual([]);
      expect(follower.count('lease', isLost)).toBe(0);
      figures.events += trace.parts.reduce((sum, { events }) => sum + events.length, 0);
    }
    expect(this.#noticedKills).toBeGreaterThan(0);
    expect(this.#followers[0]?.count('stale')).toBeGreaterThanOrEqual(this.#noticedKills);
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
    const { pid } = this.#victim;
    const start = this.#victim.start().catch(() => undefined); // it was not meant to be
    await vi.waitFor(() => expect(this.#victim.pid).not.toBe(pid), WAIT);
    await sleep(randomBelow(random, Math.ceil(this.#startMs)));
    await this.#victim.kill();
    await start;
  }

  /** Read from the new server, whatever its writers have done since. */
  async #expectAllThere(
    acknowledged: readonly ReadonlyMap<string, State>[],
    shownRevision: number,
  ): Promise<void> {
    await using store = await this.#victim.open();
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

  /** Resolves once each writer has been answered again. Other runs end at any moment, also before that. */
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

export async function startKillLoad(
  victim: Victim,
  jobId: string,
  durabilities: readonly Durability[],
): Promise<KillLoad> {
  const stores = await Promise.all(Array.from({ length: 3 }, async () => victim.open()));
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
  return new KillLoad(victim, {
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

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
