// A run is a stretch of a stream in which revisions belong to one history: it begins with a subscription without a
// cursor, or after a `gap` reset, and continues across every resume.
import type { Cursor, JobEvent } from '../../job-store.js';
import { incarnationOf, type JobTrace } from './job-trace.js';

export type RunStep =
  | { readonly kind: 'event'; readonly event: JobEvent }
  /** The subscriber was disconnected and resumed at this cursor. */
  | { readonly kind: 'cut'; readonly at: Cursor };

export interface Run {
  /** Undefined: none of its events had one. */
  readonly incarnation: string | undefined;
  readonly steps: readonly RunStep[];
  /** The subscriber has everything committed to the incarnation. */
  readonly isDrained: boolean;
}

export function runsOf(trace: JobTrace): readonly Run[] {
  const runs: RunStep[][] = [];
  for (const { after, events } of trace.parts) {
    if (after === undefined) runs.push([]);
    else runs.at(-1)?.push({ kind: 'cut', at: after });
    for (const event of events) {
      if (event.kind === 'gap' && event.reason === 'reset') runs.push([]);
      else runs.at(-1)?.push({ kind: 'event', event });
    }
  }
  return runs.map((steps, index) => ({
    steps,
    incarnation: incarnationOfSteps(trace, steps),
    isDrained: trace.isDrained && index === runs.length - 1,
  }));
}

function incarnationOfSteps(trace: JobTrace, steps: readonly RunStep[]): string | undefined {
  for (const step of steps) {
    const incarnation = step.kind === 'event' ? incarnationOf(trace, step.event) : undefined;
    if (incarnation !== undefined) return incarnation;
  }
  return undefined;
}
