// When leases were renewed, by the clock of the store, during one process of the store.
//
// J18  `lost` comes no earlier than ttl after the last renewal that was acknowledged before the decision; a start
//      of the store counts as a renewal. That it comes in time is checked once faults have stopped.
import type { TaskLease } from '@syncline/jobs';
import { assert } from '@syncline/kernel';
import type { RecordBook } from './record-book.js';

interface Renewal {
  readonly askedMs: number;
  /** A position in the order of the record book. */
  readonly answeredStep: number;
}

export class LeaseTimes {
  readonly #records: RecordBook;
  readonly #startMs: number;
  /** By incarnation, task and epoch. */
  readonly #renewals = new Map<string, Renewal[]>();

  constructor(records: RecordBook, startMs: number) {
    this.#records = records;
    this.#startMs = startMs;
  }

  /** A claim, a renewal or a write of this epoch that was requested at that time is acknowledged now. */
  renewed(incarnation: string, lease: Pick<TaskLease, 'taskId' | 'epoch'>, askedMs: number): void {
    const name = `${incarnation}/${lease.taskId}/${lease.epoch}`;
    const renewals = this.#renewals.get(name) ?? [];
    this.#renewals.set(name, renewals);
    renewals.push({ askedMs, answeredStep: this.#records.nextStep() });
  }

  lost(incarnation: string, { taskId, epoch, ttlMs, revision }: TaskLease): void {
    const record = this.#records.recordOf(incarnation, revision);
    if (!record || record.step === 0) return; // it was lost before the last restart
    const renewals = this.#renewals.get(`${incarnation}/${taskId}/${epoch}`) ?? [];
    const before = renewals.filter(({ answeredStep }) => answeredStep < record.step);
    const renewedMs = Math.max(this.#startMs, ...before.map(({ askedMs }) => askedMs));
    const silentMs = record.atMs - renewedMs;
    assert(
      silentMs >= ttlMs - 1,
      `J18: task ${taskId} of job ${incarnation} is lost ${silentMs} ms after a renewal, ttl ${ttlMs} ms`,
    );
  }
}
