// Follows a job across all disconnects, crashes and restarts: what it has seen outlives its process, as if it stored
// each event on arrival.
import type {
  Cursor,
  JobEvent,
  JobSubscription,
  Overflow,
  Scope,
  StoreSubscribeOptions,
} from '@syncline/jobs';
import type { JobTrace, TracePart } from '@syncline/jobs/testing';
import { assert, type Clock, SynclineError } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import { inPast, pastOfCursor } from './jobs-history.js';
import { JOB_IDS, pick, TAGS } from './jobs-plan.js';

export interface Follow {
  readonly jobId: string;
  readonly scope: Scope;
  readonly include: readonly ('lease' | 'job')[];
  readonly overflow: Overflow;
  readonly maxEvents: number;
  /** The probability, for each event, that the follower disconnects and resumes. */
  readonly cutProbability: number;
  readonly slowMsMax: number;
}

/** Follows everything, without delay. */
export function followAll(jobId: string): Follow {
  const include = ['lease', 'job'] as const;
  const pace = { maxEvents: 256, cutProbability: 0, slowMsMax: 0 };
  return { jobId, scope: {}, include, overflow: 'block', ...pace };
}

/** Follows all states, and is often too slow for its buffer. */
export function followSlowly(jobId: string): Follow {
  const pace = { maxEvents: 4, cutProbability: 0, slowMsMax: 200 };
  return { jobId, scope: {}, include: [], overflow: 'coalesce', ...pace };
}

export function planFollow(random: SeededRandom): Follow {
  const scope = {
    ...(random.float() < 0.3 ? { taskId: pick(random, [0, 1]) } : {}),
    ...(random.float() < 0.3 ? { tag: pick(random, TAGS) } : {}),
  };
  return {
    scope,
    jobId: pick(random, JOB_IDS),
    include: (['lease', 'job'] as const).filter(() => random.float() < 0.5),
    overflow: pick(random, ['block', 'coalesce', 'coalesce', 'fail']),
    maxEvents: pick(random, [4, 4, 256]),
    cutProbability: pick(random, [0, 0.02, 0.2]),
    slowMsMax: pick(random, [0, 100, 400]),
  };
}

export interface FollowerDeps {
  readonly clock: Clock;
  readonly random: SeededRandom;
  subscribe(options: StoreSubscribeOptions): JobSubscription;
  /** Once faults have stopped, no follower is slow or disconnects: everything that remains is read. */
  isLoading(): boolean;
}

/** Errors that may end a subscription under faults. */
const EXPECTED_ENDS: ReadonlySet<string> = new Set([
  'unavailable',
  'timeout',
  'not-found',
  'closed',
  'storage-failed',
]);
const RETRY_MS = 100;

export class JobFollower {
  readonly follow: Follow;
  readonly #parts: { after: Cursor | undefined; events: JobEvent[] }[] = [];
  #cursor: Cursor | undefined;
  isDrained = false;

  constructor(follow: Follow) {
    this.follow = follow;
  }

  /** Whether it has seen all of its job; `ends` are the last cursors of all jobs. */
  isLevel(ends: ReadonlyMap<string, string>): boolean {
    return this.#cursor === ends.get(this.follow.jobId);
  }

  trace(): Omit<JobTrace, 'log' | 'history'> {
    const parts = this.#parts.map(({ after, events }): TracePart => ({ after, events }));
    return {
      scope: this.follow.scope,
      include: this.follow.include,
      parts,
      isDrained: this.isDrained,
    };
  }

  /** Never resolves by itself while the process is alive. */
  async run(deps: FollowerDeps, isOver: () => boolean): Promise<void> {
    const { clock, random } = deps;
    while (!isOver()) {
      try {
        await this.#read(deps, isOver);
      } catch (thrown) {
        this.#checkEnd(thrown);
      }
      await clock.sleep(RETRY_MS * random.float());
    }
  }

  async #read(deps: FollowerDeps, isOver: () => boolean): Promise<void> {
    const { clock, random, isLoading } = deps;
    const { scope, include, overflow, maxEvents, cutProbability, slowMsMax } = this.follow;
    const after = this.#cursor;
    const part = { after, events: [] as JobEvent[] };
    this.#parts.push(part);
    const options = { scope, include, overflow, buffer: { maxEvents } };
    await using subscription = deps.subscribe({ ...options, ...(after && { after }) });
    for await (const event of subscription) {
      part.events.push(withPast(event));
      if ('cursor' in event) this.#cursor = event.cursor;
      if (isOver()) return;
      if (!isLoading()) continue;
      if (random.float() < cutProbability) return;
      if (slowMsMax > 0) await clock.sleep(slowMsMax * random.float());
    }
  }

  #checkEnd(thrown: unknown): void {
    if (!(thrown instanceof SynclineError)) throw thrown;
    if (thrown.code === 'overflow') {
      const { cursor } = thrown.details;
      assert(
        cursor === this.#cursor,
        `J9: overflow at ${String(cursor)}, read up to ${this.#cursor}`,
      );
      return;
    }
    assert(EXPECTED_ENDS.has(thrown.code), `a follower got ${thrown.code}: ${thrown.message}`);
  }
}

function withPast(event: JobEvent): JobEvent {
  if (event.kind !== 'job') return event;
  return { ...event, job: inPast(event.job, pastOfCursor(event.cursor)) };
}
