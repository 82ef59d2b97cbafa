// J6  Unique: no revision is delivered twice, even across a resume. A new replay may of course repeat what an
//     earlier one has shown.
import { deliveredRevision, type TraceChecker } from './job-trace.js';
import { runsOf } from './runs.js';

export const checkUnique: TraceChecker = (trace) => {
  const problems: string[] = [];
  for (const { steps } of runsOf(trace)) {
    const seen = new Set<number>();
    for (const step of steps) {
      const revision = step.kind === 'event' ? deliveredRevision(step.event) : undefined;
      if (revision === undefined) continue;
      if (seen.has(revision)) problems.push(`revision ${revision} comes twice`);
      seen.add(revision);
    }
  }
  return problems;
};
