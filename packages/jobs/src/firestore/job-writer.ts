// The writes of one job from this process: queued, and committed in groups, one transaction at a time.
//
// While one is under way the next group gathers. A job takes tens of transactions per second, however many
// processes write it, so what is queued goes together.
import { abortedError, SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import {
  type CommitGroupDeps,
  commitGroup,
  type GroupAnswer,
  type GroupResult,
} from './commit-group.js';
import type { JobOperation } from './job-operation.js';
import type { WriteQueueQuota } from './write-queue-quota.js';

export interface JobWriterDeps extends CommitGroupDeps {
  readonly metrics: JobsMetrics;
  readonly quota: WriteQueueQuota;
  /** Called before the answers are given. */
  readonly onCommitted: (result: GroupResult<unknown>) => void;
}

interface Waiting {
  readonly operation: JobOperation<unknown>;
  readonly settle: (answer: GroupAnswer<unknown>) => void;
}

export class JobWriter {
  readonly #deps: JobWriterDeps;
  readonly #queue: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(deps: JobWriterDeps) {
    this.#deps = deps;
  }

  /** Nothing waits and nothing is under way. */
  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /** Aborted while it waits, it was not applied; once it was sent, nobody can tell. */
  run<T>(operation: JobOperation<T>, signal?: AbortSignal): Promise<T> {
    const { quota } = this.#deps;
    const { bytes } = operation;
    quota.take(bytes);
    return new Promise<T>((resolve, reject) => {
      const giveUp = () => {
        const at = this.#queue.indexOf(waiting);
        if (at >= 0) this.#queue.splice(at, 1);
        if (signal) waiting.settle({ kind: 'refused', error: abortedWrite(signal, at < 0) });
      };
      let isSettled = false;
      const waiting: Waiting = {
        operation,
        settle: (answer) => {
          if (isSettled) return;
          isSettled = true;
          quota.giveBack(bytes);
          signal?.removeEventListener('abort', giveUp);
          if (answer.kind === 'refused') reject(answer.error);
          else resolve(answer.answer as T);
        },
      };
      signal?.addEventListener('abort', giveUp);
      this.#queue.push(waiting);
      this.#running ??= this.#drain();
    });
  }

  /** Refuses what waits. Resolves once what is under way is answered. */
  async close(): Promise<void> {
    const error = new SynclineError(
      'closed',
      'the job store was closed before this write was sent',
    );
    for (const { settle } of this.#queue.splice(0)) settle({ kind: 'refused', error });
    await this.#running;
  }

  async #drain(): Promise<void> {
    await Promise.resolve(); // what is written in the same turn goes together
    const { value: writesMax } = jobsLimits.firestoreWritesMax;
    while (this.#queue.length > 0) await this.#commit(this.#queue.splice(0, writesMax));
    this.#running = undefined;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const { metrics, onCommitted } = this.#deps;
    metrics.observe('syncline_jobs_commit_batch_writes', group.length);
    try {
      const operations = group.map(({ operation }) => operation);
      const result = await commitGroup(this.#deps, operations);
      onCommitted(result);
      for (const [index, answer] of result.answers.entries()) group[index]?.settle(answer);
    } catch (thrown) {
      const error = SynclineError.from(thrown);
      for (const { settle } of group) settle({ kind: 'refused', error });
    }
  }
}

function abortedWrite(signal: AbortSignal, wasSent: boolean): SynclineError {
  const { code, message, cause } = abortedError('the write', signal);
  return new SynclineError(code, message, {
    outcome: wasSent ? 'unknown' : 'not-applied',
    cause,
  });
}
