// J7  Reliable. History `all`: every committed revision in scope is delivered, or a `gap` covers it. Both histories:
//     once a subscriber is notified that it has caught up, it has the last state of every key, even after a gap.

import type { JobEvent } from '../../job-store.js';
import { readCursor } from './cursor-parts.js';
import {
  bookmarkOf,
  changesFor,
  deliveredRevision,
  type JobTrace,
  type TraceChecker,
} from './job-trace.js';
import type { JobChange } from './keys.js';
import { keyOfChange } from './keys.js';
import { type Run, runsOf } from './runs.js';

export const checkReliable: TraceChecker = (trace) =>
  runsOf(trace).flatMap((run) => new ReliableRun(trace, run).check());

class ReliableRun {
  readonly #trace: JobTrace;
  readonly #run: Run;
  readonly #incarnation: string;
  /** What it must receive, ascending. */
  readonly #changes: readonly JobChange[];
  readonly #problems: string[] = [];
  readonly #delivered = new Map<string, number>();
  #gaps: { readonly from: number; readonly to: number }[] = [];
  /**
   * Everything in scope up to here was delivered or covered. Undefined during a replay: its fold is checked instead.
   */
  #position: number | undefined;

  constructor(trace: JobTrace, run: Run) {
    this.#trace = trace;
    this.#run = run;
    this.#incarnation = run.incarnation ?? '';
    this.#changes = changesFor(trace, this.#incarnation);
  }

  check(): readonly string[] {
    for (const step of this.#run.steps) {
      if (step.kind === 'event') this.#take(step.event);
      else this.#cut(readCursor(step.at)?.revision ?? 0);
    }
    if (this.#run.isDrained) {
      const last = this.#trace.log.revision(this.#incarnation);
      this.#reach(last);
      this.#hasLatest(last, 'the end');
    }
    return this.#problems;
  }

  /** What a gap announced beyond the cursor is read again. */
  #cut(revision: number): void {
    this.#gaps = this.#gaps.map(({ from, to }) => ({ from, to: Math.min(to, revision) }));
  }

  #take(event: JobEvent): void {
    if (event.kind === 'gap') this.#gaps.push({ from: event.fromRevision, to: event.toRevision });
    const revision = deliveredRevision(event);
    if (revision !== undefined) this.#deliver(revision);
    const bookmark = bookmarkOf(event);
    if (bookmark === undefined || (this.#position === undefined && event.kind === 'live')) return;
    this.#reach(bookmark);
    // A resume sends its position. After a gap, what was left out may still be in flight then.
    if (event.kind === 'synced' && event.resumed) return;
    this.#hasLatest(bookmark, `${event.kind} ${bookmark}`);
  }

  #deliver(revision: number): void {
    const change = this.#trace.log.change(this.#incarnation, revision);
    if (change) this.#delivered.set(keyOfChange(change), revision);
    if (this.#position === undefined) return;
    this.#nothingMissing(revision - 1);
    this.#position = Math.max(this.#position, revision);
  }

  #reach(revision: number): void {
    if (this.#position !== undefined) this.#nothingMissing(revision);
    this.#position = Math.max(this.#position ?? 0, revision);
  }

  #hasLatest(revision: number, when: string): void {
    const latest = new Map<string, number>();
    for (const change of this.#changes)
      if (change.revision <= revision) latest.set(keyOfChange(change), change.revision);
    for (const [key, expected] of latest) {
      const seen = this.#delivered.get(key) ?? 0;
      if (seen < expected) this.#problems.push(`at ${when} ${key} is at ${seen}, not ${expected}`);
    }
  }

  #nothingMissing(to: number): void {
    if (this.#trace.history === 'latest') return;
    const from = this.#position ?? 0;
    if (to <= from) return;
    const isCovered = (revision: number) =>
      this.#gaps.some((gap) => gap.from < revision && revision <= gap.to);
    for (const { revision } of this.#changes)
      if (revision > from && revision <= to && !isCovered(revision))
        this.#problems.push(`revision ${revision} did not come`);
  }
}
