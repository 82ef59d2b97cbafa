// J9  Resumable: a stream that is cut anywhere and resumed equals the uncut stream, except where a `gap` says
//     otherwise. After the replay, a resume begins with `synced` at the cursor, and the next change is the one that
//     would have been next.
import type { Cursor, JobEvent } from '../../job-store.js';
import { readCursor } from './cursor-parts.js';
import { changesFor, deliveredRevision, type JobTrace, type TraceChecker } from './job-trace.js';
import { type Run, type RunStep, runsOf } from './runs.js';

export const checkResumable: TraceChecker = (trace) =>
  runsOf(trace).flatMap((run) =>
    run.steps.flatMap((step, index) => {
      if (step.kind !== 'cut') return [];
      return checkResume(trace, run, step.at, eventsUpToCut(run.steps.slice(index + 1)));
    }),
  );

function eventsUpToCut(steps: readonly RunStep[]): readonly JobEvent[] {
  const end = steps.findIndex(({ kind }) => kind === 'cut');
  const part = end < 0 ? steps : steps.slice(0, end);
  return part.flatMap((step) => (step.kind === 'event' ? [step.event] : []));
}

function checkResume(
  trace: JobTrace,
  { incarnation = '' }: Run,
  at: Cursor,
  events: readonly JobEvent[],
): readonly string[] {
  const { revision = 0, isInReplay = false } = readCursor(at) ?? {};
  const delivered = events.filter(({ kind }) => kind !== 'stale' && kind !== 'live');
  const [first] = delivered;
  if (!first || isDeleted(first)) return [];
  if (isInReplay) {
    const isReplay = first.kind !== 'change' && first.kind !== 'gap';
    return isReplay ? [] : [`the replay cut at ${at} goes on with ${first.kind}`];
  }
  if (first.kind !== 'synced' || !first.resumed || first.revision !== revision)
    return [`the resume at ${at} begins with ${JSON.stringify(first)}`];
  const [, next] = delivered;
  const nextRevision = next && deliveredRevision(next);
  if (nextRevision === undefined || trace.history === 'latest') return [];
  const expected = changesFor(trace, incarnation).find((change) => change.revision > revision);
  if (nextRevision === expected?.revision) return [];
  return [`the resume at ${at} goes on with ${nextRevision}, not ${expected?.revision}`];
}

function isDeleted(event: JobEvent): boolean {
  return event.kind === 'gap' && event.reason === 'deleted';
}
