// J10  Bookmarkable: after `synced` or `live` at r, every event in scope has a revision above r, and no later
//      bookmark is below an earlier one or below what was delivered.
import { bookmarkOf, deliveredRevision, type TraceChecker } from './job-trace.js';
import { runsOf } from './runs.js';

export const checkBookmarkable: TraceChecker = (trace) => {
  const problems: string[] = [];
  for (const { steps } of runsOf(trace)) {
    let bookmark = 0;
    let delivered = 0;
    for (const step of steps) {
      if (step.kind !== 'event') continue;
      const { event } = step;
      const revision = deliveredRevision(event);
      if (revision !== undefined && revision <= bookmark)
        problems.push(`${event.kind} ${revision} comes after the bookmark ${bookmark}`);
      delivered = Math.max(delivered, revision ?? 0);
      const next = bookmarkOf(event);
      if (next === undefined) continue;
      if (next < bookmark || next < delivered)
        problems.push(`${event.kind} ${next} comes after ${Math.max(bookmark, delivered)}`);
      bookmark = Math.max(bookmark, next);
    }
  }
  return problems;
};
