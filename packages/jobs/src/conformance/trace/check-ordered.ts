// J5  Ordered: replay revisions strictly increase and are at most R, later ones strictly increase and are above R.
//     This also checks the grammar, and that a cursor contains the revision of its event.
//
//   snapshot* synced (change | gap | live)*    `stale` and `live` anywhere, `lease` and `job` in order
import type { JobEvent } from '../../job-store.js';
import { readCursor } from './cursor-parts.js';
import { bookmarkOf, deliveredRevision, isInReplay, type TraceChecker } from './job-trace.js';
import { type RunStep, runsOf } from './runs.js';

interface Position {
  /** `resuming`: a cursor was given, and its `synced` has not come. */
  readonly phase: 'replay' | 'resuming' | 'live' | 'ended';
  readonly revision: number;
}

export const checkOrdered: TraceChecker = (trace) => {
  const problems: string[] = [];
  for (const { steps } of runsOf(trace)) {
    let position: Position = { phase: 'replay', revision: 0 };
    for (const step of steps) {
      if (step.kind === 'event') problems.push(...problemsOf(step.event, position));
      position = after(step, position);
    }
  }
  return problems;
};

function problemsOf(event: JobEvent, { phase, revision }: Position): readonly string[] {
  const problems: string[] = [];
  if (phase === 'ended') problems.push(`${event.kind} comes after the end`);
  const delivered = deliveredRevision(event);
  if (delivered !== undefined && delivered <= revision)
    problems.push(`${event.kind} ${delivered} comes after ${revision}`);
  if (event.kind === 'synced' && event.revision < revision)
    problems.push(`synced ${event.revision} comes after ${revision}`);
  const isAllowed = ALLOWED[event.kind].includes(phase);
  if (!isAllowed && phase !== 'ended') problems.push(`${event.kind} comes in phase ${phase}`);
  if (event.kind === 'gap' && event.reason === 'deleted' && event.fromRevision !== event.toRevision)
    problems.push(`gap deleted spans ${event.fromRevision}-${event.toRevision}`);
  if (event.kind === 'gap' && event.fromRevision > event.toRevision)
    problems.push(`gap goes back from ${event.fromRevision} to ${event.toRevision}`);
  return [...problems, ...cursorProblems(event, phase)];
}

/** A gap may also end a replay: the job was deleted. */
const ALLOWED: Readonly<Record<JobEvent['kind'], readonly Position['phase'][]>> = {
  snapshot: ['replay'],
  synced: ['replay', 'resuming'],
  change: ['live'],
  gap: ['replay', 'resuming', 'live'],
  stale: ['replay', 'resuming', 'live'],
  live: ['replay', 'resuming', 'live'],
  lease: ['replay', 'live'],
  job: ['replay', 'live'],
};

function cursorProblems(event: JobEvent, phase: Position['phase']): readonly string[] {
  if (!('cursor' in event)) return [];
  const parts = readCursor(event.cursor);
  if (!parts) return [`${event.kind} has the cursor ${event.cursor}`];
  const revision = deliveredRevision(event) ?? bookmarkOf(event);
  if (parts.revision !== revision)
    return [`${event.kind} ${revision} has the cursor ${event.cursor}`];
  const isReplaying = phase === 'replay' && event.kind !== 'synced' && event.kind !== 'live';
  if (isReplaying === parts.isInReplay || event.kind === 'live') return [];
  return [`${event.kind} in phase ${phase} has the cursor ${event.cursor}`];
}

function after(step: RunStep, { phase, revision }: Position): Position {
  if (step.kind === 'cut') return { phase: isInReplay(step.at) ? 'replay' : 'resuming', revision };
  const { event } = step;
  if (event.kind === 'gap')
    return { phase: event.reason === 'deleted' ? 'ended' : phase, revision };
  if (event.kind === 'synced')
    return { phase: 'live', revision: Math.max(revision, event.revision) };
  return { phase, revision: Math.max(revision, deliveredRevision(event) ?? 0) };
}
