// All checkers of streams, by the numbers of their invariants.
import { checkAtomic } from './check-atomic.js';
import { checkBookmarkable } from './check-bookmarkable.js';
import { checkGenuine } from './check-genuine.js';
import { checkOrdered } from './check-ordered.js';
import { checkReliable } from './check-reliable.js';
import { checkResumable } from './check-resumable.js';
import { checkUnique } from './check-unique.js';
import type { JobTrace, TraceChecker } from './job-trace.js';

const traceCheckers: Readonly<Record<string, TraceChecker>> = {
  'J5 Ordered': checkOrdered,
  'J6 Unique': checkUnique,
  'J7 Reliable': checkReliable,
  'J8 Atomic': checkAtomic,
  'J9 Resumable': checkResumable,
  'J10 Bookmarkable': checkBookmarkable,
  'J16 Genuine': checkGenuine,
};

export function checkTrace(trace: JobTrace): readonly string[] {
  return Object.entries(traceCheckers).flatMap(([name, check]) =>
    check(trace).map((problem) => `${name}: ${problem}`),
  );
}
