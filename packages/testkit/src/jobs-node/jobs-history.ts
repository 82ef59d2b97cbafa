// Everything that the store reported across all its restarts, to be checked when the run is over.
//
// A revision is unique within a past, the prefix that the cursors of an incarnation have in common. A store that lost
// buffered writes assigns their revisions again, and marks this by a new prefix. So the log of commits has a part for
// each past, which begins with what the store found at its start.
import type { JobEvent, JobInfo, Scope, State, StatePage, TaskLease } from '@syncline/jobs';
import { CommittedLog, type JobTrace } from '@syncline/jobs/testing';
import { ObservedJobs } from './observed-jobs.js';
import { ObservedStates } from './observed-states.js';
import { RecordBook } from './record-book.js';

/** The content of a reply. Which past it belongs to may become known only later. */
interface Answer {
  readonly incarnation: string;
  readonly said:
    | { readonly state: State }
    | { readonly lease: TaskLease }
    | { readonly job: JobInfo };
}

interface PageRead {
  readonly scope: Scope;
  readonly page: StatePage;
}

/** One process of the store, from start to end. */
export class StoreLife {
  readonly answers: Answer[] = [];
  readonly pages: PageRead[] = [];
  /** What cursors of this process have between incarnation and revision. */
  #suffix: string | undefined;

  /** Undefined if no cursor was seen from this process. */
  pastOf(incarnation: string): string | undefined {
    return this.#suffix === undefined ? undefined : `${incarnation}${this.#suffix}`;
  }

  learn(incarnation: string, event: JobEvent): void {
    if ('cursor' in event) this.#suffix ??= pastOfCursor(event.cursor).slice(incarnation.length);
  }
}

export class JobsHistory {
  readonly records = new RecordBook();
  readonly states = new ObservedStates();
  readonly jobs = new ObservedJobs();
  readonly log = new CommittedLog();
  readonly lives: StoreLife[] = [];
  readonly traces: (() => Omit<JobTrace, 'log' | 'history'>)[] = [];
  /** The pasts that starts of the store have found. */
  readonly pasts = new Set<string>();

  /** Adds the change that an event delivers to the log. */
  learn(event: JobEvent): void {
    if (!('cursor' in event)) return;
    const past = pastOfCursor(event.cursor);
    if (event.kind === 'snapshot' || event.kind === 'change') this.log.addState(past, event.state);
    if (event.kind === 'lease') this.log.addLease(past, event.lease);
    if (event.kind === 'job') this.log.addJob(inPast(event.job, past));
  }

  /** Adds all replies whose past is known to the log. Call it once, at the end. */
  learnAnswers(): void {
    for (const life of this.lives) {
      for (const { incarnation, said } of life.answers) {
        const past = life.pastOf(incarnation);
        if (past === undefined) continue;
        if ('state' in said) this.log.addState(past, said.state);
        else if ('lease' in said) this.log.addLease(past, said.lease);
        else this.log.addJob(inPast(said.job, past));
      }
      for (const { page } of life.pages) {
        const past = life.pastOf(page.incarnation);
        if (past !== undefined) for (const state of page.states) this.log.addState(past, state);
      }
    }
  }
}

/** Checkers identify a past by the incarnation of a job. */
export function inPast(job: JobInfo, past: string): JobInfo {
  return { ...job, incarnation: past };
}

export function pastOfCursor(cursor: string): string {
  return cursor.slice(0, cursor.indexOf(':'));
}

/** A past is an incarnation, followed by a dash and a counter if the store has lost writes. */
export function incarnationOfPast(past: string): string {
  return past.split('-')[0] ?? past;
}
