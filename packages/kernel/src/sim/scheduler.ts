// Simulated time. The scheduler takes the earliest event, moves the clock to it, runs it, lets every
// promise continue, and takes the next. There is no waiting: a simulated day passes as fast as its
// events can be run.
//
// K81  Equal seeds give equal runs: time, order and every choice come from the seed alone.
import type { Timer } from '../clock.js';
import type { SeededRandom } from '../seeded-random.js';
import { type EventOwner, EventQueue, type SimEvent } from './event-queue.js';
import { runStepsDrained } from './microtask-drain.js';
import { isProcessEnd } from './process-life.js';
import { TICKS_PER_MS } from './ticks.js';
import type { Trace } from './trace.js';

/** What is to happen, and how the trace names it. */
export interface Work {
  readonly kind: string;
  readonly subject: string;
  /** Left out: the work belongs to the simulation, not to a process. */
  readonly owner?: EventOwner;
  readonly run: () => void;
}

/** A run that exceeds one of these is stopped. */
export interface Budget {
  readonly timeMsMax: number;
  readonly eventsMax: number;
}

export type RunEnd = 'done' | 'deadlock' | 'time-budget' | 'event-budget';

/** Above every seeded tie: deferred work runs after everything else at its moment. */
const DEFERRED_TIE = 2 ** 32;

export class Scheduler {
  readonly trace: Trace;
  readonly #ties: SeededRandom;
  readonly #queue = new EventQueue();
  #nowMs = 0;
  #sequence = 0;
  #eventsCount = 0;

  constructor(deps: { readonly random: SeededRandom; readonly trace: Trace }) {
    this.#ties = deps.random.fork('ties');
    this.trace = deps.trace;
  }

  /** Simulated ms since the start of the simulation. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events run so far. */
  get eventsCount(): number {
    return this.#eventsCount;
  }

  /** The delay is rounded up to the tick. An infinite one never elapses. */
  after(delayMs: number, work: Work): Timer {
    const delay = Math.ceil(Math.max(0, delayMs) * TICKS_PER_MS) / TICKS_PER_MS;
    return this.#add(this.#nowMs + delay, this.#ties.u32(), work);
  }

  /** Runs once everything else of this moment has run, in the order of the calls. */
  defer(work: Work): Timer {
    return this.#add(this.#nowMs, DEFERRED_TIE, work);
  }

  /** Reschedules what a paused process has missed: now, in the original order. */
  release(events: readonly SimEvent[]): void {
    for (const event of events) {
      if (event.run === undefined) continue;
      this.#sequence += 1;
      event.timeMs = this.#nowMs;
      event.tie = 0;
      event.sequence = this.#sequence;
      this.#queue.push(event);
    }
  }

  /** How many events of this kind are pending for a process. */
  pendingCount(owner: EventOwner, kind: string): number {
    return this.#queue.count((event) => event.owner === owner && event.kind === kind);
  }

  note(kind: string, subject: string, detail = 0): void {
    this.trace.note(this.#nowMs, kind, subject, detail);
  }

  /** Runs events until `isDone`, or until nothing is left, or a budget is spent. */
  async run(isDone: () => boolean, budget: Budget): Promise<RunEnd> {
    let end: RunEnd = 'done';
    const stop = (reason: RunEnd) => {
      end = reason;
      return false;
    };
    await runStepsDrained(() => {
      if (isDone()) return stop('done');
      if (this.#eventsCount >= budget.eventsMax) return stop('event-budget');
      for (;;) {
        const event = this.#queue.pop();
        if (event === undefined) return stop('deadlock');
        if (event.timeMs > budget.timeMsMax) {
          this.#queue.push(event); // so that a second run can continue from here
          return stop('time-budget');
        }
        if (this.#runEvent(event)) return true;
      }
    });
    return end;
  }

  #add(timeMs: number, tie: number, work: Work): Timer {
    this.#sequence += 1;
    const event: SimEvent = {
      timeMs,
      tie,
      sequence: this.#sequence,
      kind: work.kind,
      subject: work.subject,
      owner: work.owner,
      run: work.run,
      isQueued: false,
    };
    if (work.owner?.state !== 'dead' && timeMs < Infinity) this.#queue.push(event);
    return { cancel: () => this.#queue.cancel(event) };
  }

  /** False when there was nothing to run: the process is dead, or paused and keeps it for later. */
  #runEvent(event: SimEvent): boolean {
    this.#nowMs = event.timeMs;
    const { owner, run } = event;
    if (owner?.state === 'dead' || run === undefined) return false;
    if (owner?.state === 'paused') {
      owner.hold(event);
      return false;
    }
    this.#eventsCount += 1;
    this.trace.note(this.#nowMs, event.kind, event.subject, 0);
    event.run = undefined;
    try {
      run();
    } catch (thrown) {
      // A process that dies in a synchronous call is unwound, whatever its code does with the error.
      if (!hasDied(owner) && !isProcessEnd(thrown)) throw thrown;
    }
    return true;
  }
}

function hasDied(owner: EventOwner | undefined): boolean {
  return owner?.state === 'dead';
}
