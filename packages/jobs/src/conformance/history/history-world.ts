// What the actors of a history share: the store under test, the job, what is known to be committed, and what was
// seen. Calls that fail because of a fault are repeated, as a manager would.
import { SynclineError } from '@syncline/kernel';
import type { JobInfo, JobSpec } from '../../job.js';
import type { JobEvent, JobStore, StateWrite } from '../../job-store.js';
import { JOB_ID } from '../job-samples.js';
import type { CaseContext, JobStoreSubject } from '../job-store-subject.js';
import { DEADLINE_MS } from '../stream-reader.js';
import { CommittedLog } from '../trace/committed-log.js';
import type { JobTrace } from '../trace/job-trace.js';
import type { HistoryPlan } from './history-plan.js';

/** Errors that a fault may cause; without faults they are problems. */
const PASSING: ReadonlySet<string> = new Set(['closed', 'unavailable', 'timeout', 'overloaded']);
const RETRY_MS = 5;

export class HistoryWorld {
  readonly context: CaseContext;
  readonly plan: HistoryPlan;
  readonly log = new CommittedLog();
  readonly traces: Omit<JobTrace, 'log' | 'history'>[] = [];
  readonly problems: string[] = [];
  /** All writes of states that were ever sent, by event id. */
  readonly sent = new Map<string, StateWrite>();
  /** The reply to some change was lost: the log may have gaps. */
  hasLostAnswers = false;
  /** The job as it was last read. */
  incarnation = '';
  /** Calls that wait for a reply from the current store. */
  readonly #waiting = new Set<() => void>();

  constructor(context: CaseContext, plan: HistoryPlan) {
    this.context = context;
    this.plan = plan;
  }

  get subject(): JobStoreSubject {
    return this.context.subject;
  }

  get store(): JobStore {
    return this.context.subject.store;
  }

  sleep(ms: number): Promise<void> {
    return this.subject.clock.sleep(ms);
  }

  /** The current job, created if it does not exist. While it is marked deleted, waits until it is gone. */
  async ensureJob(): Promise<JobInfo> {
    const { numTasks, expectedTags } = this.plan;
    const spec: JobSpec = { jobId: JOB_ID, numTasks, expectedTags };
    const startMs = this.subject.clock.monotonicMs();
    for (;;) {
      const answer = await this.attempt(() => this.store.createJob(spec));
      if (!(answer instanceof SynclineError)) {
        if (answer.created) this.log.addJob(answer.job);
        this.incarnation = answer.job.incarnation;
        return answer.job;
      }
      const isMarked = answer.code === 'conflict';
      if (!isMarked || this.subject.clock.monotonicMs() - startMs > DEADLINE_MS) throw answer;
      await this.sleep(RETRY_MS);
    }
  }

  /** Repeats a call until it gets a reply. A refusal is a reply, too. */
  async attempt<T>(call: () => Promise<T>): Promise<T | SynclineError> {
    const startMs = this.subject.clock.monotonicMs();
    for (;;) {
      try {
        return await this.unlessRestarted(call());
      } catch (thrown) {
        if (!(thrown instanceof SynclineError)) throw thrown;
        if (!this.isPassing(thrown)) return thrown;
        if (this.subject.clock.monotonicMs() - startMs > DEADLINE_MS) throw thrown;
        this.hasLostAnswers = true;
        await this.sleep(RETRY_MS);
      }
    }
  }

  /**
   * A stream may show a write whose reply was lost, but none that was never sent. Leases are declared lost by the
   * store.
   */
  mayBeTrue(event: JobEvent): boolean {
    if (event.kind !== 'snapshot' && event.kind !== 'change') return true;
    const { taskId, tag, status, message, eventId } = event.state;
    const write = this.sent.get(eventId);
    const isSamePlace = write?.taskId === taskId && write.tag === tag;
    return isSamePlace && write.status === status && write.message === message;
  }

  isPassing(error: SynclineError): boolean {
    const { cut, restart, stall } = this.context.faults;
    return PASSING.has(error.code) && (cut ?? restart ?? stall) !== undefined;
  }

  /** A call to a store that is being restarted would wait forever: a killed process does not reply. */
  async restart(): Promise<void> {
    this.#giveUp();
    await this.context.faults.restart?.(this.subject);
    this.#giveUp(); // some have called the dead one in the meantime
  }

  #giveUp(): void {
    for (const giveUp of [...this.#waiting]) giveUp();
  }

  async unlessRestarted<T>(promise: Promise<T>): Promise<T> {
    let giveUp = () => {};
    const restarted = new Promise<never>((_, reject) => {
      giveUp = () => reject(new SynclineError('unavailable', 'the store was restarted'));
    });
    this.#waiting.add(giveUp);
    try {
      return await Promise.race([promise, restarted]);
    } finally {
      this.#waiting.delete(giveUp);
    }
  }
}
