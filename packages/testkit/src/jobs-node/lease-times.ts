// When leases were renewed, by the store's clock, within one life of the store.
//
// J18  `lost` comes no earlier than ttl after the last renewal that was answered before it was decided; a start
//      of the store counts as a renewal. That it comes in time is looked at when the world is calm.
import type { TaskLease } from '@syncline/jobs';
import { assert } from '@syncline/kernel';
import type { RecordBook } from './record-book.js';

interface Renewal {
  readonly askedMs: number;
  /** In the order of the record book. */
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

  /** A claim, a renewal or a write of this epoch that was asked for then is answered now. */
  renewed(incarnation: string, lease: Pick<TaskLease, 'taskId' | 'epoch'>, askedMs: number): void {
    const name = `${incarnation}/${lease.taskId}/${lease.epoch}`;
    const renewals = this.#renewals.get(name) ?? [];
    this.#renewals.set(name, renewals);
    renewals.push({ askedMs, answeredStep: this.#records.nextStep() });
  }

  lost(incarnation: string, { taskId, epoch, ttlMs, revision }: TaskLease): void {
    const record = this.#records.recordOf(incarnation, revision);
    if (!record || record.step === 0) return; // it was lost in an earlier life
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
