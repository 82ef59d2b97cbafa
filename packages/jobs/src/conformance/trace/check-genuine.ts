// J16  Genuine: no state in a stream is synthesized for a cell that was never written, each is in scope, and a replay
//      is closed by exactly one `synced`.
import type { JobTrace, TraceChecker } from './job-trace.js';
import { isInScope } from './keys.js';
import { type Run, runsOf } from './runs.js';

export const checkGenuine: TraceChecker = (trace) =>
  runsOf(trace).flatMap((run) => [...madeUp(trace, run), ...markers(run)]);

function madeUp(trace: JobTrace, { steps }: Run): readonly string[] {
  return steps.flatMap((step) => {
    if (step.kind !== 'event' || !('state' in step.event)) return [];
    const { state } = step.event;
    const problems: string[] = [];
    if (state.version < 1 || state.revision < 1 || state.eventId === '')
      problems.push(`${step.event.kind} of ${state.taskId}/${state.tag} was never written`);
    if (!isInScope(trace.scope, state))
      problems.push(`${state.taskId}/${state.tag} is not in scope ${JSON.stringify(trace.scope)}`);
    return problems;
  });
}

function markers({ steps, isDrained }: Run): readonly string[] {
  const count = steps.filter(
    (step) => step.kind === 'event' && step.event.kind === 'synced' && !step.event.resumed,
  ).length;
  if (count > 1) return [`a replay is closed ${count} times`];
  return isDrained && count === 0 ? ['a replay is not closed'] : [];
}
