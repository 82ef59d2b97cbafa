// One process that writes states of its task. Others may hold the same task: then one of them is fenced, claims the
// task again and continues, as a restarted process would.
//
// J2  One event id makes at most one version; every repeat returns the first result.
import { SynclineError } from '@syncline/kernel';
import type { SetStateResult, StateWrite } from '../../job-store.js';
import { TaskWriter } from '../job-samples.js';
import type { WriterStep } from './history-plan.js';
import type { HistoryWorld } from './history-world.js';

/**
 * The most writes of one key in flight. A store remembers the last 8 event ids of a key, and a repeat must be among
 * them.
 */
const IN_FLIGHT_MAX = 4;

export class HistoryWriter {
  readonly #world: HistoryWorld;
  readonly #taskId: number;
  readonly #ttlMs: number;
  #claimed: TaskWriter | undefined;

  constructor(world: HistoryWorld, { taskId, ttlMs }: { taskId: number; ttlMs: number }) {
    this.#world = world;
    this.#taskId = taskId;
    this.#ttlMs = ttlMs;
  }

  async run(steps: readonly (WriterStep & { readonly waitMs: number })[]): Promise<void> {
    for (const step of steps) {
      if (step.waitMs > 0) await this.#world.sleep(step.waitMs);
      await this.#step(step);
    }
  }

  /** A write that must be applied: if another process took over the task, that one is fenced in turn. */
  async writeUntilApplied(tag: string, status: number): Promise<void> {
    while (!(await this.#write(tag, status, {}))) await this.#world.sleep(1);
  }

  async #step(step: WriterStep): Promise<void> {
    switch (step.do) {
      case 'claim':
        this.#claimed = undefined;
        await this.#claim();
        return;
      case 'renew':
      case 'release':
        await this.#act(step.do);
        return;
      case 'write-if':
        await this.#write(step.tag, 1, { ifVersion: step.version });
        return;
      case 'write': {
        for (let sent = 0; sent < step.times; sent += IN_FLIGHT_MAX) {
          const count = Math.min(IN_FLIGHT_MAX, step.times - sent);
          const some = Array.from({ length: count }, (_, index) => {
            const message = `${sent + index} of ${step.times}`;
            return this.#write(step.tag, step.status, { message }, step.isDoubled);
          });
          await Promise.all(some);
        }
      }
    }
  }

  async #claim(): Promise<TaskWriter> {
    while (this.#claimed === undefined) {
      const job = await this.#world.ensureJob();
      const claim = { taskId: this.#taskId, ttlMs: this.#ttlMs };
      const answer = await this.#world.attempt(() =>
        TaskWriter.claim(this.#world.store, job, claim),
      );
      if (answer instanceof SynclineError) {
        if (!isTakenOver(answer)) throw answer;
        continue;
      }
      this.#claimed = answer;
      this.#world.log.addLease(job.incarnation, answer.lease);
    }
    return this.#claimed;
  }

  async #act(action: 'renew' | 'release'): Promise<void> {
    const writer = await this.#claim();
    const { jobId, incarnation } = writer.job;
    const { taskId, epoch, ttlMs, holder } = writer.lease;
    const request = { jobId, incarnation, taskId, action, epoch, ttlMs, holder };
    const answer = await this.#world.attempt(() => this.#world.store.lease(request));
    if (answer instanceof SynclineError) this.#giveUp(writer, answer);
    else this.#world.log.addLease(incarnation, answer);
  }

  /** True: it was applied. */
  async #write(
    tag: string,
    status: number,
    more: Partial<StateWrite>,
    isDoubled = false,
  ): Promise<boolean> {
    const writer = await this.#claim();
    const write = writer.write(tag, status, more);
    this.#world.sent.set(write.eventId, write);
    const send = () => this.#world.attempt(() => this.#world.store.setState(write));
    const answers = await Promise.all(isDoubled ? [send(), send()] : [send()]);
    const revisions = new Set<number>();
    for (const answer of answers) {
      if (answer instanceof SynclineError) this.#giveUp(writer, answer);
      else if (answer.applied) {
        revisions.add(answer.state.revision);
        this.#world.log.addState(writer.job.incarnation, answer.state);
      }
    }
    if (revisions.size > 1)
      this.#world.problems.push(
        `J2: event ${write.eventId} made revisions ${[...revisions].join(', ')}`,
      );
    this.#checkFirst(answers);
    return revisions.size > 0;
  }

  /** Of all replies to one event id, at most one may be the first. */
  #checkFirst(answers: readonly (SetStateResult | SynclineError)[]): void {
    const first = answers.filter(
      (answer) => !(answer instanceof SynclineError) && answer.applied && !answer.duplicate,
    );
    if (first.length > 1) this.#world.problems.push('J2: two replies claim to be the first');
  }

  #giveUp(writer: TaskWriter, error: SynclineError): void {
    if (!isTakenOver(error)) throw error;
    if (this.#claimed === writer) this.#claimed = undefined;
  }
}

/** A newer claim, a tombstone, or a job that is gone. */
function isTakenOver({ code, details }: SynclineError): boolean {
  if (code === 'conflict') return details['reason'] === 'marked-deleted';
  return code === 'fenced' || code === 'not-found';
}
