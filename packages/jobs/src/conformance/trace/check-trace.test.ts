// The reports of each checker for small handwritten streams.
import { expect, test } from 'vitest';
import { defaultState, type State } from '../../job.js';
import type { JobEvent } from '../../job-store.js';
import { checkTrace } from './check-trace.js';
import { CommittedLog, checkCommitted } from './committed-log.js';
import { writeCursor } from './cursor-parts.js';
import type { JobTrace, TracePart } from './job-trace.js';

/** Three writes: of tag a, of tag b, of tag a again. */
function written(): readonly [State, State, State] {
  const write = (revision: number, tag: string, version: number): State => ({
    ...defaultState('job', 0, tag),
    revision,
    version,
    eventId: `e${revision}`,
    timestampMs: revision,
  });
  return [write(1, 'a', 1), write(2, 'b', 1), write(3, 'a', 2)];
}

const [a1, b2, a3] = written();

function cursor(revision: number, isInReplay = false) {
  return writeCursor({ base: 'i', revision, isInReplay });
}

function snapshot(state: State): JobEvent {
  return { kind: 'snapshot', state, cursor: cursor(state.revision, true) };
}

function change(state: State): JobEvent {
  return { kind: 'change', state, cursor: cursor(state.revision) };
}

function synced(revision: number, resumed = false): JobEvent {
  return { kind: 'synced', revision, cursor: cursor(revision), history: 'all', resumed };
}

function live(revision: number): JobEvent {
  return { kind: 'live', revision, cursor: cursor(revision) };
}

function problemsOf(...parts: readonly (readonly JobEvent[] | TracePart)[]): readonly string[] {
  const log = new CommittedLog();
  for (const state of [a1, b2, a3]) log.addState('i', state);
  const trace: JobTrace = {
    scope: {},
    include: [],
    history: 'all',
    parts: parts.map((part) => ('events' in part ? part : { after: undefined, events: part })),
    isDrained: true,
    log,
  };
  return checkTrace(trace);
}

test('a complete stream has no problem, uncut or cut', () => {
  expect(problemsOf([snapshot(b2), snapshot(a3), synced(3), live(3)])).toEqual([]);
  expect(problemsOf([synced(0), change(a1), change(b2), change(a3)])).toEqual([]);
  const first = { after: undefined, events: [snapshot(a1), synced(1)] };
  const rest = { after: cursor(1), events: [synced(1, true), change(b2), change(a3), live(3)] };
  expect(problemsOf(first, rest)).toEqual([]);
  const gap: JobEvent = { kind: 'gap', reason: 'compacted', fromRevision: 0, toRevision: 3 };
  expect(problemsOf([synced(0), gap, change(b2), change(a3), live(3)])).toEqual([]);
});

test('J5 a replay with decreasing revisions, and a change before the marker', () => {
  expect(problemsOf([snapshot(a3), snapshot(b2), synced(3)])).toContain(
    'J5 Ordered: snapshot 2 comes after 3',
  );
  expect(problemsOf([change(a1), synced(3)])).toContain('J5 Ordered: change comes in phase replay');
});

test('J6 a revision that comes again after a resume', () => {
  const first = { after: undefined, events: [synced(0), change(a1)] };
  const again = { after: cursor(1), events: [synced(1, true), change(a1), change(b2), change(a3)] };
  expect(problemsOf(first, again)).toContain('J6 Unique: revision 1 comes twice');
});

test('J7 a change that is missing, in the middle and at the end', () => {
  expect(problemsOf([synced(0), change(a1), change(a3)])).toContain(
    'J7 Reliable: revision 2 did not come',
  );
  expect(problemsOf([synced(0), change(a1), change(b2)])).toContain(
    'J7 Reliable: at the end state 0 a is at 1, not 3',
  );
});

test('J8 a replay that mixes two moments, and a state that mixes two writes', () => {
  expect(problemsOf([snapshot(a1), snapshot(b2), synced(3)])).toContain(
    'J8 Atomic: the replay up to 3 has state 0 a at 1, the store at 3',
  );
  const torn = problemsOf([snapshot(b2), snapshot({ ...a3, message: 'other' }), synced(3)]);
  expect(torn.filter((problem) => problem.startsWith('J8'))).toHaveLength(1);
});

test('J9 a resume that continues too late', () => {
  const first = { after: undefined, events: [synced(0), change(a1)] };
  const late = { after: cursor(1), events: [synced(1, true), change(a3)] };
  expect(problemsOf(first, late)).toContain(
    'J9 Resumable: the resume at i:1 goes on with 3, not 2',
  );
});

test('J10 a change below a bookmark', () => {
  expect(problemsOf([synced(0), change(a1), live(2), change(b2), change(a3)])).toContain(
    'J10 Bookmarkable: change 2 comes after the bookmark 2',
  );
});

test('J16 a state that was never written, and a second marker', () => {
  const madeUp = defaultState('job', 1, 'a');
  expect(problemsOf([snapshot(madeUp), synced(0)])).toContain(
    'J16 Genuine: snapshot of 1/a was never written',
  );
  expect(problemsOf([synced(0), synced(0)])).toContain('J16 Genuine: a replay is closed 2 times');
});

test('J1 J19 a log with a gap, a version assigned twice, or a decreasing time', () => {
  const log = new CommittedLog();
  log.addState('i', a1);
  log.addState('i', { ...a3, version: 1, timestampMs: 0 });
  expect(checkCommitted(log, { mayMiss: false, history: 'all' })).toEqual([
    'J1: revision 3 of i follows 1',
    'J1: version 1 of state 0 a comes at 3, not 2',
    'J19: time falls to 0 at 3 of i',
  ]);
  log.addState('i', { ...a1, message: 'other' });
  expect(log.problems).toHaveLength(1);
});
