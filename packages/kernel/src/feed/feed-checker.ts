// Compares what one subscriber saw with everything that was committed. A stream is what was seen by one subscription,
// or by several that resumed each other, one part after another.
//
// It knows nothing about how a feed works: it compares the events with the history and reports what is wrong.
import type { FeedChange, FeedEvent } from './feed-event.js';

/** Where a stream stands after some of its events. */
interface Position {
  /** Everything up to here was seen, superseded in the replay, or covered by a gap. */
  readonly revision: number;
  readonly isSynced: boolean;
  readonly coveredTo: number;
}

/**
 * `history` is every committed change in scope, in order; `parts` are the events of each subscription. Returns a
 * description of each problem; nothing if all is well.
 */
export function checkFeedStream<C extends FeedChange>(
  history: readonly C[],
  parts: readonly (readonly FeedEvent<C>[])[],
): readonly string[] {
  const problems: string[] = [];
  const folded = new Map<string, number>();
  let position: Position = { revision: 0, isSynced: false, coveredTo: 0 };
  for (const [index, part] of parts.entries()) {
    position = { ...position, isSynced: false };
    for (const event of part) {
      const problem = problemWith(event, position, history, folded);
      if (problem) problems.push(`part ${index}: ${problem}`);
      position = after(event, position);
      if (event.kind === 'snapshot' || event.kind === 'change')
        folded.set(event.change.key, event.change.revision);
      if (event.kind === 'gap' && event.reason === 'reset') folded.clear();
    }
  }
  return problems;
}

/** After the last event: the state that a subscriber must have once it has drained everything. */
export function checkFeedComplete<C extends FeedChange>(
  history: readonly C[],
  parts: readonly (readonly FeedEvent<C>[])[],
): readonly string[] {
  const seen = latestOf(
    parts.flat().flatMap((event) => ('change' in event ? [event.change] : [])),
    Number.POSITIVE_INFINITY,
  );
  return differences(latestOf(history, Number.POSITIVE_INFINITY), seen, 'at the end');
}

function after<C extends FeedChange>(event: FeedEvent<C>, position: Position): Position {
  switch (event.kind) {
    case 'snapshot':
    case 'change':
      return { ...position, revision: event.change.revision };
    case 'synced':
      return { ...position, revision: event.revision, isSynced: true };
    case 'live':
      return { ...position, revision: event.revision };
    case 'gap':
      return event.reason === 'reset'
        ? { revision: 0, isSynced: false, coveredTo: 0 }
        : { ...position, coveredTo: Math.max(position.coveredTo, event.toRevision) };
    case 'stale':
      return position;
  }
}

function problemWith<C extends FeedChange>(
  event: FeedEvent<C>,
  position: Position,
  history: readonly C[],
  folded: ReadonlyMap<string, number>,
): string | undefined {
  switch (event.kind) {
    case 'snapshot':
      if (position.isSynced) return `snapshot ${event.change.revision} after synced`;
      return notAbove(event.change.revision, position.revision);
    case 'change':
      if (!position.isSynced) return `change ${event.change.revision} before synced`;
      return (
        notAbove(event.change.revision, position.revision) ??
        hole(history, position, event.change.revision)
      );
    case 'synced':
      if (position.isSynced) return 'synced twice';
      if (event.resumed) return notThrough(history, position, event.revision);
      return differences(
        latestOf(history, event.revision),
        folded,
        `at synced ${event.revision}`,
      )[0];
    case 'gap':
    case 'stale':
      return undefined;
    case 'live':
      if (!position.isSynced) return 'live before synced';
      return notThrough(history, position, event.revision);
  }
}

/** It may be ahead of the last event, by changes that are out of scope; never behind it. */
function notThrough<C extends FeedChange>(
  history: readonly C[],
  position: Position,
  revision: number,
): string | undefined {
  if (revision < position.revision) return `${revision} came after ${position.revision}`;
  return hole(history, position, revision + 1);
}

function notAbove(revision: number, previous: number): string | undefined {
  return revision > previous ? undefined : `revision ${revision} after ${previous}`;
}

function hole<C extends FeedChange>(
  history: readonly C[],
  position: Position,
  next: number,
): string | undefined {
  const seenTo = Math.max(position.revision, position.coveredTo);
  const missed = history.find(({ revision }) => revision > seenTo && revision < next);
  return missed && `revision ${missed.revision} is missing before ${next}`;
}

function latestOf<C extends FeedChange>(changes: readonly C[], to: number): Map<string, number> {
  return new Map(
    changes.filter(({ revision }) => revision <= to).map(({ key, revision }) => [key, revision]),
  );
}

function differences(
  expected: ReadonlyMap<string, number>,
  actual: ReadonlyMap<string, number>,
  when: string,
): string[] {
  const keys = new Set([...expected.keys(), ...actual.keys()]);
  return [...keys]
    .filter((key) => expected.get(key) !== actual.get(key))
    .map(
      (key) =>
        `${when} key ${key} is at ${actual.get(key) ?? 'none'}, not at ${expected.get(key) ?? 'none'}`,
    );
}
