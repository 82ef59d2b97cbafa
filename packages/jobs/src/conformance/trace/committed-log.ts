// Everything that is known to have been committed, per incarnation: from the replies to writers, and from writes that
// were sent and seen in streams. Replies can be lost, so the log may have gaps; two sources that differ are a problem
// immediately.
//
// Where streams show every change, revisions are checked to be 1, 2, 3 …, and versions for both histories, since
// every writer learns about its change. Where replies were lost, or leases were declared lost without anyone being
// informed, it can only be checked that versions and times do not decrease.
//
// J1  Versions of a key increase by exactly one per applied change, and so do revisions of a job with history `all`.
// J19 timestampMs never decreases as the revision increases.

import type { JobInfo, State, TaskLease } from '../../job.js';
import type { History, JobEvent } from '../../job-store.js';
import { isOfIncarnation, readCursor } from './cursor-parts.js';
import type { JobChange } from './keys.js';
import { keyOfChange } from './keys.js';
import { contentOfChange, isSameContent } from './whole-change.js';

export class CommittedLog {
  /** By incarnation, then by revision. */
  readonly #incarnations = new Map<string, Map<number, JobChange>>();
  /** The same in order of revisions, created on demand and dropped with the next change. */
  readonly #sorted = new Map<string, readonly JobChange[]>();
  readonly #problems: string[] = [];

  /** Changes on which two sources differ. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  get incarnations(): readonly string[] {
    return [...this.#incarnations.keys()];
  }

  addState(incarnation: string, state: State): void {
    const { revision, timestampMs } = state;
    this.#add(incarnation, { kind: 'state', revision, timestampMs, state });
  }

  addLease(incarnation: string, lease: TaskLease): void {
    this.#add(incarnation, { kind: 'lease', revision: lease.revision, timestampMs: 0, lease });
  }

  /** Only for what carries its own revision: the reply to a write, or a `job` event. */
  addJob(job: JobInfo): void {
    const { revision, changedAtMs } = job;
    this.#add(job.incarnation, { kind: 'job', revision, timestampMs: changedAtMs, job });
  }

  /** Learns from a stream what no writer learned: leases that were lost, writes whose reply was lost. */
  addEvent(event: JobEvent): void {
    if (!('cursor' in event)) return;
    // The incarnation of a job that was deleted before its creator got a reply is unknown.
    const incarnation = this.incarnationOf(event.cursor) ?? readCursor(event.cursor)?.base;
    if (incarnation === undefined) return;
    if (event.kind === 'snapshot' || event.kind === 'change')
      this.addState(incarnation, event.state);
    if (event.kind === 'lease') this.addLease(incarnation, event.lease);
    if (event.kind === 'job') this.addJob(event.job);
  }

  /** Undefined: not a known incarnation. */
  incarnationOf(cursor: string): string | undefined {
    const base = readCursor(cursor)?.base;
    if (base === undefined) return undefined;
    const fitting = this.incarnations.filter((known) => isOfIncarnation(base, known));
    return fitting.sort((left, right) => right.length - left.length)[0];
  }

  /** Ascending by revision. */
  changes(incarnation: string): readonly JobChange[] {
    const known = this.#sorted.get(incarnation);
    if (known) return known;
    const changes = [...(this.#incarnations.get(incarnation)?.values() ?? [])];
    changes.sort((left, right) => left.revision - right.revision);
    this.#sorted.set(incarnation, changes);
    return changes;
  }

  change(incarnation: string, revision: number): JobChange | undefined {
    return this.#incarnations.get(incarnation)?.get(revision);
  }

  /** The highest known revision; 0 if there is none. */
  revision(incarnation: string): number {
    return this.changes(incarnation).at(-1)?.revision ?? 0;
  }

  /** Whether every change up to a revision, or to the last one, is known. */
  isComplete(incarnation: string, revision: number): boolean {
    const last = Math.min(revision, this.revision(incarnation));
    const known = this.changes(incarnation).filter((change) => change.revision <= last);
    return known.length === last;
  }

  /** The latest change of each key at a revision. */
  foldAt(incarnation: string, revision: number): ReadonlyMap<string, JobChange> {
    const upTo = this.changes(incarnation).filter((change) => change.revision <= revision);
    return new Map(upTo.map((change) => [keyOfChange(change), change]));
  }

  #add(incarnation: string, change: JobChange): void {
    const changes = this.#incarnations.get(incarnation) ?? new Map<number, JobChange>();
    this.#incarnations.set(incarnation, changes);
    const known = changes.get(change.revision);
    if (known === undefined) {
      changes.set(change.revision, change);
      this.#sorted.delete(incarnation);
    } else if (!isSameContent(contentOfChange(known), contentOfChange(change)))
      this.#problems.push(
        `revision ${change.revision} of ${incarnation} is ${JSON.stringify(contentOfChange(known))} ` +
          `for one reader and ${JSON.stringify(contentOfChange(change))} for another`,
      );
  }
}

export interface CommittedLogOptions {
  /** The replies to some writes were lost, or no one was informed of lost leases. */
  readonly mayMiss: boolean;
  readonly history: History;
}

/** J1, J19. */
export function checkCommitted(log: CommittedLog, options: CommittedLogOptions): readonly string[] {
  return [
    ...log.problems,
    ...log.incarnations.flatMap((one) => checkIncarnation(log, one, options)),
  ];
}

function checkIncarnation(
  log: CommittedLog,
  incarnation: string,
  { mayMiss, history }: CommittedLogOptions,
): readonly string[] {
  const problems: string[] = [];
  const versions = new Map<string, number>();
  let previous = 0;
  let timestampMs = 0;
  for (const change of log.changes(incarnation)) {
    const { revision } = change;
    if (!mayMiss && history === 'all' && revision !== previous + 1)
      problems.push(`J1: revision ${revision} of ${incarnation} follows ${previous}`);
    previous = revision;
    if (change.kind === 'state') {
      const key = keyOfChange(change);
      const expected = (versions.get(key) ?? 0) + 1;
      const { version } = change.state;
      if (mayMiss ? version < expected : version !== expected)
        problems.push(`J1: version ${version} of ${key} comes at ${revision}, not ${expected}`);
      versions.set(key, version);
    }
    if (change.kind === 'lease') continue;
    if (change.timestampMs < timestampMs)
      problems.push(`J19: time falls to ${change.timestampMs} at ${revision} of ${incarnation}`);
    timestampMs = change.timestampMs;
  }
  return problems;
}
