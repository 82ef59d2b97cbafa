// Writers that continue across every restart of their server, and know what each reply must be.
//
// No one else writes their keys, and a write without a reply is resent with its event id until it has one. So the
// versions of a key are 1, 2, 3 … in the order of the writes: a write that was lost, or applied twice, shows in the
// next reply at the latest.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { JobManager, SetStateResult, State, StateWrite } from '@syncline/jobs';
import { type Durability, type Random, randomBelow, SynclineError } from '@syncline/kernel';
import type { JobsTask } from './jobs-task.js';

const TAGS = ['ingest', 'parse', 'store'] as const;
/** Fewer than a store remembers. */
const REPEATS_MAX = 7;
/** Limits the rate, so that a follower sees some thousand changes, and not some hundred thousand. */
const PAUSE_MS_MAX = 12;
const RETRY_MS = 20;

export interface JobsWriter {
  /** Writes until `isOver`, and until its last write has been answered. */
  run(isOver: () => boolean): Promise<void>;
  /** The last reply for each key, and where a reply was wrong. */
  readonly acknowledged: ReadonlyMap<string, State>;
  readonly problems: readonly string[];
  readonly counts: WriterCounts;
}

export interface WriterCounts {
  answered: number;
  /** Replies to repeats: of writes that were answered before, and of those that were not. */
  repeated: number;
  duplicates: number;
}

/** The checks that both kinds of writers make on a reply. */
class Answers {
  readonly acknowledged = new Map<string, State>();
  readonly problems: string[] = [];
  readonly counts: WriterCounts = { answered: 0, repeated: 0, duplicates: 0 };
  readonly #onAnswer: (state: State) => void;

  constructor(onAnswer: (state: State) => void) {
    this.#onAnswer = onAnswer;
  }

  versionOf(tag: string): number {
    return this.acknowledged.get(tag)?.version ?? 0;
  }

  take(
    tag: string,
    wanted: Partial<Pick<State, 'status' | 'message' | 'eventId'>>,
    result: SetStateResult,
  ): void {
    this.counts.answered += 1;
    const { status, message, eventId } = wanted;
    if (!result.applied) {
      this.problems.push(`${tag} ${status} was refused at version ${result.current.version}`);
      return;
    }
    const { state } = result;
    if (result.duplicate) this.counts.duplicates += 1;
    if (state.version !== this.versionOf(tag) + 1)
      this.problems.push(
        `${tag} ${status} got version ${state.version} after ${this.versionOf(tag)}`,
      );
    const isOwn = state.status === status && state.message === message;
    if (!isOwn || (eventId !== undefined && state.eventId !== eventId))
      this.problems.push(`${tag} ${status} got the reply ${JSON.stringify(state)}`);
    this.acknowledged.set(tag, state);
    this.#onAnswer(state);
  }
}

/** Over the plain store: it repeats writes itself, including those answered long ago. */
export class RawWriter implements JobsWriter {
  readonly #task: JobsTask;
  readonly #durabilities: readonly Durability[];
  readonly #random: Random;
  readonly #answers: Answers;
  readonly #recent = new Map<string, { readonly write: StateWrite; readonly state: State }[]>();
  #status = 1;
  #isServerNew = false;

  constructor(
    task: JobsTask,
    {
      durabilities,
      random,
      onAnswer,
    }: {
      readonly durabilities: readonly Durability[];
      readonly random: Random;
      readonly onAnswer: (state: State) => void;
    },
  ) {
    this.#task = task;
    this.#durabilities = durabilities;
    this.#random = random;
    this.#answers = new Answers(onAnswer);
  }

  get acknowledged() {
    return this.#answers.acknowledged;
  }

  get problems() {
    return this.#answers.problems;
  }

  get counts() {
    return this.#answers.counts;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver() && this.problems.length === 0) {
      const tag = TAGS[randomBelow(this.#random, TAGS.length)] ?? TAGS[0];
      await this.#writeNext(tag);
      // A new server must know what the previous one has answered.
      const isDue = this.#isServerNew || randomBelow(this.#random, 8) === 0;
      this.#isServerNew = false;
      if (isDue) await this.#repeat(tag);
      await sleep(randomBelow(this.#random, PAUSE_MS_MAX));
    }
  }

  async #writeNext(tag: string): Promise<void> {
    this.#status += 1;
    const durability = this.#durabilities[this.#status % this.#durabilities.length] ?? 'synced';
    // A repeat of a conditional write that was applied must not fail because of its own change.
    const condition = this.#status % 3 === 0 ? { ifVersion: this.#answers.versionOf(tag) } : {};
    const payload = { step: this.#status, rows: 'x'.repeat(randomBelow(this.#random, 200)) };
    const write = this.#task.write(tag, this.#status, { payload, durability, ...condition });
    const result = await this.#untilAnswered(write);
    this.#answers.take(tag, write, result);
    if (!result.applied) return;
    const recent = this.#recent.get(tag) ?? [];
    this.#recent.set(tag, [...recent, { write, state: result.state }].slice(-REPEATS_MAX));
  }

  /** An old write of this key: the same reply as the first time, and nothing else happens. */
  async #repeat(tag: string): Promise<void> {
    const recent = this.#recent.get(tag) ?? [];
    const old = recent[randomBelow(this.#random, recent.length)];
    if (old === undefined) return;
    const result = await this.#untilAnswered(old.write);
    this.counts.repeated += 1;
    const expected = { applied: true, duplicate: true, state: old.state };
    if (!isDeepStrictEqual(result, expected))
      this.problems.push(
        `a repeat gave ${JSON.stringify(result)}, not ${JSON.stringify(expected)}`,
      );
  }

  async #untilAnswered(write: StateWrite): Promise<SetStateResult> {
    for (;;) {
      try {
        return await this.#task.store.setState(write);
      } catch (thrown) {
        if (!(thrown instanceof SynclineError) || !thrown.retryable) throw thrown;
      }
      this.#isServerNew = true;
      await sleep(RETRY_MS);
    }
  }
}

/** Through a manager, which repeats for it. */
export class ManagerWriter implements JobsWriter {
  readonly #manager: JobManager;
  readonly #random: Random;
  readonly #answers: Answers;
  #status = 1;

  constructor(manager: JobManager, random: Random, onAnswer: (state: State) => void) {
    this.#manager = manager;
    this.#random = random;
    this.#answers = new Answers(onAnswer);
  }

  get acknowledged() {
    return this.#answers.acknowledged;
  }

  get problems() {
    return this.#answers.problems;
  }

  get counts() {
    return this.#answers.counts;
  }

  /** Writes its tags concurrently, as a manager sends them. */
  async run(isOver: () => boolean): Promise<void> {
    await Promise.all(TAGS.map((tag) => this.#runTag(tag, isOver)));
  }

  async #runTag(tag: string, isOver: () => boolean): Promise<void> {
    while (!isOver() && this.problems.length === 0) {
      this.#status += 1;
      const write = { tag, status: this.#status, message: `step ${this.#status}` };
      this.#answers.take(tag, write, await this.#manager.setState(write));
      await sleep(randomBelow(this.#random, 3 * PAUSE_MS_MAX));
    }
  }
}
