// J8  Atomic: an event is one complete write, and the fold of a replay equals the store at R: no key is missing, none
//     is older, none is newer.
import type { JobEvent } from '../../job-store.js';
import { changesFor, deliveredRevision, type JobTrace, type TraceChecker } from './job-trace.js';
import { keyOfChange } from './keys.js';
import { type Run, runsOf } from './runs.js';
import { contentOfChange, contentOfEvent, isSameContent } from './whole-change.js';

export const checkAtomic: TraceChecker = (trace) =>
  runsOf(trace).flatMap((run) => [...tornEvents(trace, run), ...wrongReplays(trace, run)]);

function tornEvents(trace: JobTrace, { incarnation = '', steps }: Run): readonly string[] {
  return steps.flatMap((step) => {
    const revision = step.kind === 'event' ? deliveredRevision(step.event) : undefined;
    if (step.kind !== 'event' || revision === undefined) return [];
    const change = trace.log.change(incarnation, revision);
    if (!change) return [`${step.event.kind} ${revision} is a write that was never made`];
    const expected = contentOfChange(change);
    const actual = contentOfEvent(step.event);
    if (isSameContent(expected, actual)) return [];
    return [`revision ${revision} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`];
  });
}

function wrongReplays(trace: JobTrace, { incarnation = '', steps }: Run): readonly string[] {
  const folded = new Map<string, number>();
  for (const step of steps) {
    if (step.kind !== 'event') continue;
    if (isEndOfReplay(step.event)) return differences(trace, incarnation, step.event, folded);
    const revision = deliveredRevision(step.event);
    const change = revision === undefined ? undefined : trace.log.change(incarnation, revision);
    if (change) folded.set(keyOfChange(change), change.revision);
  }
  return [];
}

type Synced = Extract<JobEvent, { kind: 'synced' }>;

function isEndOfReplay(event: JobEvent): event is Synced {
  return event.kind === 'synced';
}

function differences(
  trace: JobTrace,
  incarnation: string,
  { revision }: Synced,
  folded: ReadonlyMap<string, number>,
): readonly string[] {
  const expected = new Map<string, number>();
  for (const change of changesFor(trace, incarnation))
    if (change.revision <= revision) expected.set(keyOfChange(change), change.revision);
  return [...new Set([...expected.keys(), ...folded.keys()])]
    .filter((key) => expected.get(key) !== folded.get(key))
    .map((key) => {
      const [seen, wanted] = [folded.get(key) ?? 'missing', expected.get(key) ?? 'missing'];
      return `the replay up to ${revision} has ${key} at ${seen}, the store at ${wanted}`;
    });
}
