// All that the store has said, over all its lives, for looking at it when the run is over.
//
// Revisions mean one thing within a past: what the cursors of an incarnation begin with. A store that lost
// buffered writes gives revisions again, and says so with a new beginning; so the log of commits has a part for
// each past, which begins with what a start has found.
import type { JobEvent, JobInfo, Scope, State, StatePage, TaskLease } from '@syncline/jobs';
import { CommittedLog, type JobTrace } from '@syncline/jobs/testing';
import { RecordBook } from './record-book.js';
import { ToldJobs } from './told-jobs.js';
import { ToldStates } from './told-states.js';

/** What an answer has said, in a life whose pasts may only become known later. */
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

/** One life of the store. */
export class StoreLife {
  readonly answers: Answer[] = [];
  readonly pages: PageRead[] = [];
  /** What the cursors of this life have between incarnation and revision. */
  #suffix: string | undefined;

  /** Undefined: nobody has got a cursor in this life. */
  pastOf(incarnation: string): string | undefined {
    return this.#suffix === undefined ? undefined : `${incarnation}${this.#suffix}`;
  }

  learn(incarnation: string, event: JobEvent): void {
    if ('cursor' in event) this.#suffix ??= pastOfCursor(event.cursor).slice(incarnation.length);
  }
}

export class JobsHistory {
  readonly records = new RecordBook();
  readonly states = new ToldStates();
  readonly jobs = new ToldJobs();
  readonly log = new CommittedLog();
  readonly lives: StoreLife[] = [];
  readonly traces: (() => Omit<JobTrace, 'log' | 'history'>)[] = [];
  /** Those that starts have found. */
  readonly pasts = new Set<string>();

  /** Of the change that an event delivers. */
  learn(event: JobEvent): void {
    if (!('cursor' in event)) return;
    const past = pastOfCursor(event.cursor);
    if (event.kind === 'snapshot' || event.kind === 'change') this.log.addState(past, event.state);
    if (event.kind === 'lease') this.log.addLease(past, event.lease);
    if (event.kind === 'job') this.log.addJob(inPast(event.job, past));
  }

  /** Of all answers whose past is known. Call it once, in the end. */
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

/** Checkers take the incarnation of a job for its past. */
export function inPast(job: JobInfo, past: string): JobInfo {
  return { ...job, incarnation: past };
}

export function pastOfCursor(cursor: string): string {
  return cursor.slice(0, cursor.indexOf(':'));
}

/** A past is an incarnation and, behind a dash, how often the store has lost something, if it has. */
export function incarnationOfPast(past: string): string {
  return past.split('-')[0] ?? past;
}
