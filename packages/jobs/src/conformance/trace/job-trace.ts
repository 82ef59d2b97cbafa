// What one subscriber saw: the events of one subscription, or of several that resumed each other, and what it had
// requested. The checkers compare it with what was committed; they know nothing of how a store works.
import type { Scope } from '../../job.js';
import type { Cursor, History, JobEvent } from '../../job-store.js';
import type { CommittedLog } from './committed-log.js';
import { readCursor } from './cursor-parts.js';
import { type Include, isForSubscriber, type JobChange } from './keys.js';

export interface TracePart {
  /** Where it resumed. Undefined: it started from the beginning. */
  readonly after: Cursor | undefined;
  readonly events: readonly JobEvent[];
}

export interface JobTrace {
  readonly scope: Scope;
  readonly include: Include;
  readonly history: History;
  readonly parts: readonly TracePart[];
  /** The subscriber read until it had everything committed to the last incarnation. */
  readonly isDrained: boolean;
  readonly log: CommittedLog;
}

/** Returns a description of each problem; nothing if all is well. */
export type TraceChecker = (trace: JobTrace) => readonly string[];

/** The changes of an incarnation that the subscriber must receive, ascending. */
export function changesFor(trace: JobTrace, incarnation: string): readonly JobChange[] {
  return trace.log.changes(incarnation).filter((change) => isForSubscriber(trace, change));
}

/** The revision that an event delivers; undefined for markers, gaps and bookmarks. */
export function deliveredRevision(event: JobEvent): number | undefined {
  switch (event.kind) {
    case 'snapshot':
    case 'change':
      return event.state.revision;
    case 'lease':
      return event.lease.revision;
    case 'job':
      return event.job.revision;
    case 'synced':
    case 'gap':
    case 'stale':
    case 'live':
      return undefined;
  }
}

/** Up to which revision an event says that everything was delivered. */
export function bookmarkOf(event: JobEvent): number | undefined {
  return event.kind === 'synced' || event.kind === 'live' ? event.revision : undefined;
}

export function incarnationOf(trace: JobTrace, event: JobEvent): string | undefined {
  return 'cursor' in event ? trace.log.incarnationOf(event.cursor) : undefined;
}

/** One line, for people who debug a failure. */
export function formatEvent(event: JobEvent): string {
  switch (event.kind) {
    case 'snapshot':
    case 'change': {
      const { taskId, tag, version, status } = event.state;
      return `${event.kind} ${event.cursor} ${taskId}/${tag} v${version} status ${status}`;
    }
    case 'synced':
      return `synced ${event.cursor} ${event.history}${event.resumed ? ' resumed' : ''}`;
    case 'gap':
      return `gap ${event.reason} ${event.fromRevision}-${event.toRevision}`;
    case 'stale':
      return `stale attempt ${event.attempt}`;
    case 'live':
      return `live ${event.cursor}`;
    case 'lease':
      return `lease ${event.cursor} task ${event.lease.taskId} ${event.lease.state}`;
    case 'job':
      return `job ${event.cursor}`;
  }
}

export function formatTrace(trace: JobTrace): string {
  const { scope, include, isDrained } = trace;
  const head = `scope ${JSON.stringify(scope)} include ${JSON.stringify(include)} drained ${isDrained}`;
  const parts = trace.parts.flatMap(({ after, events }) => [
    `-- after ${after ?? 'nothing'}`,
    ...events.map(formatEvent),
  ]);
  return [head, ...parts].join('\n  ');
}

/** Whether a cursor is inside a replay, so that a resume continues the replay. */
export function isInReplay(cursor: Cursor | undefined): boolean {
  return cursor === undefined || readCursor(cursor)?.isInReplay === true;
}
