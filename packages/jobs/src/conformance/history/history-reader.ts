// One subscriber of a history: slow or fast, disconnected and resumed at its current or an earlier cursor, and
// finally drained, so that missing changes show.
import { SynclineError, type Timer } from '@syncline/kernel';
import type { Cursor, JobEvent, JobStore, JobSubscription } from '../../job-store.js';
import { JOB_ID } from '../job-samples.js';
import { DEADLINE_MS } from '../stream-reader.js';
import { readCursor } from '../trace/cursor-parts.js';
import { isInReplay } from '../trace/job-trace.js';
import { isForSubscriber } from '../trace/keys.js';
import type { ActorPlan, ReaderStep } from './history-plan.js';
import type { HistoryWorld } from './history-world.js';

type ReaderPlan = Extract<ActorPlan, { kind: 'reader' }>;
type Pulled = IteratorResult<readonly JobEvent[]>;

interface Part {
  readonly after: Cursor | undefined;
  readonly events: JobEvent[];
}

/** How long a reader waits for an event before it checks whether the others are done. */
const PATIENCE_MS = { real: 20, simulated: 500 } as const;

export class HistoryReader {
  readonly #world: HistoryWorld;
  readonly #plan: ReaderPlan;
  #parts: Part[] = [];
  #subscription: JobSubscription | undefined;
  /** The store that its subscription belongs to: after a restart there may be another one. */
  #store: JobStore | undefined;
  #batches: AsyncIterator<readonly JobEvent[]> | undefined;
  /** A pull that has not resolved: the next one waits for it. */
  #pending: Promise<Pulled> | undefined;

  constructor(world: HistoryWorld, plan: ReaderPlan) {
    this.#world = world;
    this.#plan = plan;
  }

  /** `isOver`: the others have finished, so there is nothing to be slow for. */
  async run(isOver: () => boolean): Promise<void> {
    for (const step of this.#plan.steps) {
      if (isOver()) return;
      if (step.waitMs > 0) await this.#world.sleep(step.waitMs);
      await this.#step(step, isOver);
    }
  }

  /** Reads until it has the last change in its scope. */
  async drain(): Promise<void> {
    const { clock } = this.#world.subject;
    const startMs = clock.monotonicMs();
    let isDrained = this.#isLevel();
    while (!isDrained && clock.monotonicMs() - startMs < DEADLINE_MS) {
      await this.#pull();
      isDrained = this.#isLevel();
    }
    if (!isDrained) this.#world.problems.push('J7: a reader did not receive the last change');
    this.#report(true);
    await this.#leave();
  }

  async #step(step: ReaderStep, isOver: () => boolean): Promise<void> {
    switch (step.do) {
      case 'take': {
        const end = this.#eventsCount() + step.count;
        while (this.#eventsCount() < end && !isOver())
          if (!(await this.#pull())) await this.#world.sleep(1);
        return;
      }
      case 'cut':
        return this.#leave();
      case 'restart':
        this.#report(false);
        this.#parts = [];
        return this.#leave();
      case 'rewind':
        return this.#rewind(step.back);
    }
  }

  /** As if it had disconnected that many cursors ago: what came later was never seen. */
  async #rewind(back: number): Promise<void> {
    await this.#leave();
    this.#report(false);
    for (let left = back; left >= 0; ) {
      const part = this.#parts.at(-1);
      const last = part?.events.at(-1);
      if (!part) return;
      if (last === undefined) {
        this.#parts.pop();
        continue;
      }
      if ('cursor' in last) left -= 1;
      if (left >= 0 || !('cursor' in last)) part.events.pop();
    }
  }

  async #leave(): Promise<void> {
    const subscription = this.#subscription;
    this.#pending?.catch(() => {}); // no one is waiting for it any more
    this.#subscription = undefined;
    this.#batches = undefined;
    this.#pending = undefined;
    await subscription?.[Symbol.asyncDispose]();
  }

  /** False: nothing arrived, although it waited long enough. */
  async #pull(): Promise<boolean> {
    const part = this.#open();
    this.#pending ??= this.#world.unlessRestarted(this.#next());
    const pending = this.#pending;
    const { clock } = this.#world.subject;
    const patienceMs = PATIENCE_MS[this.#world.context.time];
    let timer: Timer | undefined;
    const tired = new Promise<'tired'>((resolve) => {
      timer = clock.setTimer(patienceMs, () => resolve('tired'));
    });
    try {
      const pulled = await Promise.race([pending, tired]);
      if (pulled === 'tired') return false;
      this.#pending = undefined;
      if (pulled.done) await this.#leave();
      else part.events.push(...pulled.value);
      return !pulled.done;
    } catch (thrown) {
      await this.#ended(thrown);
      return false;
    } finally {
      timer?.cancel();
    }
  }

  async #next(): Promise<Pulled> {
    return (await this.#batches?.next()) ?? { value: undefined, done: true };
  }

  /** Collects the events of the current part. A new part resumes where the last one ended. */
  #open(): Part {
    const last = this.#parts.at(-1);
    const { store } = this.#world;
    if (this.#batches && last && this.#store === store) return last;
    this.#pending = undefined;
    this.#store = store;
    const after = this.#cursor();
    const part: Part = { after, events: [] };
    this.#parts.push(part);
    const { scope, include, overflow, maxEvents, isByBatch } = this.#plan;
    const options = { scope, include, overflow, buffer: { maxEvents }, ...(after && { after }) };
    this.#subscription = store.subscribe(JOB_ID, options);
    this.#batches = isByBatch
      ? this.#subscription.batches(7)[Symbol.asyncIterator]()
      : singly(this.#subscription);
    return part;
  }

  #cursor(): Cursor | undefined {
    for (const { events } of this.#parts.toReversed()) {
      const last = events.findLast((event) => 'cursor' in event);
      if (last && 'cursor' in last) return last.cursor;
    }
    return undefined;
  }

  async #ended(thrown: unknown): Promise<void> {
    if (!(thrown instanceof SynclineError)) throw thrown;
    const cursor = this.#cursor();
    await this.#leave();
    if (thrown.code === 'overflow') {
      if (thrown.details['cursor'] !== cursor)
        this.#world.problems.push(
          `overflow at ${String(thrown.details['cursor'])}, read up to ${cursor}`,
        );
      return;
    }
    // The job is deleted, and will be created again.
    if (thrown.code !== 'not-found' && !this.#world.isPassing(thrown)) throw thrown;
  }

  #eventsCount(): number {
    return this.#parts.reduce((sum, part) => sum + part.events.length, 0);
  }

  #isLevel(): boolean {
    const { log, incarnation } = this.#world;
    const last = log.changes(incarnation).findLast((change) => isForSubscriber(this.#plan, change));
    const cursor = this.#cursor();
    if (last === undefined || cursor === undefined || isInReplay(cursor)) return false;
    const reached = readCursor(cursor)?.revision ?? 0;
    return log.incarnationOf(cursor) === incarnation && reached >= last.revision;
  }

  #report(isDrained: boolean): void {
    const { scope, include } = this.#plan;
    const parts = this.#parts.map(({ after, events }) => ({ after, events: [...events] }));
    this.#world.traces.push({ scope, include, parts, isDrained });
  }
}

async function* singly(subscription: JobSubscription): AsyncGenerator<readonly JobEvent[]> {
  for await (const event of subscription) yield [event];
}
