// Checks a whole run after it has ended: every stream that was followed, every page that was read, and the commits
// that all of them together show.
//
// J1   Versions of a key increase by one, wherever everything in between is known.
// J2   No write of a manager is applied twice, however often it is sent.
// J5 to J11, J16  As defined by the checkers of `@syncline/jobs/testing`, for each follower and its scope.
// J8   A page is the fold of the commits at its revision.
import { isDeepStrictEqual } from 'node:util';
import { jobsLimits, type Scope, type State } from '@syncline/jobs';
import { checkCommitted, checkTrace, formatTrace } from '@syncline/jobs/testing';
import { assert } from '@syncline/kernel';
import type { JobsHistory } from '../jobs-history.js';

export function checkWhatWasSeen(history: JobsHistory): void {
  history.learnAnswers();
  const { log } = history;
  const problems = [
    ...checkCommitted(log, { mayMiss: true, history: 'all' }),
    ...log.incarnations.flatMap((past) => checkVersions(history, past)),
    ...checkPages(history),
  ];
  assert(problems.length === 0, problems.slice(0, 3).join('; '));
  for (const trace of history.traces) {
    const whole = { ...trace(), log, history: 'all' } as const;
    const [problem] = checkTrace(whole);
    assert(problem === undefined, `${problem}\n${formatTrace(whole)}`);
  }
}

function statesOf({ log }: JobsHistory, past: string): readonly State[] {
  return log.changes(past).flatMap((change) => (change.kind === 'state' ? [change.state] : []));
}

function checkVersions(history: JobsHistory, past: string): readonly string[] {
  const problems: string[] = [];
  const previous = new Map<string, State>();
  const texts = new Map<string, State>();
  for (const state of statesOf(history, past)) {
    const key = `${state.taskId}/${state.tag}`;
    const before = previous.get(key);
    if (
      before &&
      state.version !== before.version + 1 &&
      isKnownBetween(history, past, before, state)
    )
      problems.push(`J1: version ${state.version} of ${key} follows ${before.version} in ${past}`);
    previous.set(key, state);
    const twin = texts.get(state.message);
    if (twin && state.version - twin.version < jobsLimits.recentEventIdsMax.value)
      problems.push(
        `J2: "${state.message}" is at revision ${twin.revision} and ${state.revision} of ${past}`,
      );
    texts.set(state.message, state);
  }
  return problems;
}

function isKnownBetween({ log }: JobsHistory, past: string, from: State, to: State): boolean {
  for (let revision = from.revision + 1; revision < to.revision; revision += 1)
    if (!log.change(past, revision)) return false;
  return true;
}

function checkPages(history: JobsHistory): readonly string[] {
  return history.lives.flatMap((life) =>
    life.pages.flatMap(({ scope, page }) => {
      const past = life.pastOf(page.incarnation);
      if (past === undefined) return [];
      const expected = foldAt(history, { past, scope, revision: page.revision });
      if (isDeepStrictEqual(page.states, expected)) return [];
      const shown = page.states.map(({ taskId, tag, version }) => `${taskId}/${tag} ${version}`);
      return [
        `J8: the page at ${page.revision} of ${past} differs from the store: ${shown.join(', ')}`,
      ];
    }),
  );
}

/** The latest state of each key in scope, ascending. */
function foldAt(
  history: JobsHistory,
  {
    past,
    scope,
    revision,
  }: { readonly past: string; readonly scope: Scope; readonly revision: number },
): readonly State[] {
  const latest = new Map<string, State>();
  for (const state of statesOf(history, past)) {
    const isInScope =
      (scope.taskId ?? state.taskId) === state.taskId && (scope.tag ?? state.tag) === state.tag;
    if (isInScope && state.revision <= revision) latest.set(`${state.taskId}/${state.tag}`, state);
  }
  return [...latest.values()].sort((one, other) => one.revision - other.revision);
}
