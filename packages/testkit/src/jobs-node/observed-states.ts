// What clients were shown of states, across all restarts of the store: in replies, reads and events.
//
// J2  One event id makes one version, as long as it is among the last 8 of its key.
// J3  What was shown survives a kill; if it was written as `synced`, it also survives a power loss.
import { isDeepStrictEqual } from 'node:util';
import { jobsLimits, type State, type StateWrite } from '@syncline/jobs';
import { assert, type Durability } from '@syncline/kernel';

export type LifeEnd = 'kill' | 'power';

interface Latest {
  readonly state: State;
  /** The latest one that must survive a power loss. */
  readonly synced: State | undefined;
}

export class ObservedStates {
  /** By event id. */
  readonly #writes = new Map<string, StateWrite>();
  readonly #places = new Map<string, State>();
  /** By incarnation, then by key. */
  readonly #latest = new Map<string, Map<string, Latest>>();

  /** The write reaches the store, perhaps not for the first time. */
  sent(write: StateWrite): void {
    this.#writes.set(write.eventId, write);
  }

  durabilityOf({ eventId }: State): Durability {
    return this.#writes.get(eventId)?.durability ?? 'synced';
  }

  observed(incarnation: string, state: State): void {
    this.#checkWritten(incarnation, state);
    this.#checkPlace(state);
    const keys = this.#latest.get(incarnation) ?? new Map<string, Latest>();
    this.#latest.set(incarnation, keys);
    const known = keys.get(keyOf(state));
    const isSynced = this.durabilityOf(state) === 'synced';
    const synced = isSynced ? later(state, known?.synced) : known?.synced;
    keys.set(keyOf(state), { state: later(state, known?.state), synced });
  }

  /** What a new process has found for a job. */
  recover(incarnation: string, states: readonly State[], end: LifeEnd): void {
    const found = new Map(states.map((state) => [keyOf(state), state]));
    for (const state of states) this.#checkWritten(incarnation, state);
    const keys = this.#latest.get(incarnation) ?? new Map<string, Latest>();
    for (const [key, { state, synced }] of keys) {
      const there = found.get(key);
      const safe = end === 'kill' ? state : synced;
      const version = there?.version ?? 0;
      assert(
        safe === undefined || version >= safe.version,
        `J3: ${key} of job ${incarnation} was shown at version ${safe?.version}, but is at ${version} after: ${end}`,
      );
      const isSame = safe?.version !== version || isDeepStrictEqual(safe, there);
      assert(isSame, `J3: version ${version} of ${key} has changed after: ${end}`);
      if (version >= state.version) continue;
      if (there) keys.set(key, { state: there, synced });
      else keys.delete(key);
    }
    if (end === 'power') this.#forgetBuffered(incarnation);
  }

  forget(incarnation: string): void {
    this.#latest.delete(incarnation);
  }

  #checkWritten(incarnation: string, state: State): void {
    const write = this.#writes.get(state.eventId);
    const { taskId, tag, status, message } = state;
    const isIt =
      write?.incarnation === incarnation &&
      isDeepStrictEqual(
        { taskId, tag, status, message },
        {
          taskId: write.taskId,
          tag: write.tag,
          status: write.status,
          message: write.message,
        },
      );
    assert(isIt, `J8: ${keyOf(state)} version ${state.version} was never written as it is shown`);
  }

  #checkPlace(state: State): void {
    const { eventId, revision, version } = state;
    const earlier = this.#places.get(eventId) ?? state;
    const isForgotten = Math.abs(version - earlier.version) >= jobsLimits.recentEventIdsMax.value;
    assert(
      earlier.revision === revision || isForgotten,
      `J2: event ${eventId} made the revisions ${earlier.revision} and ${revision}`,
    );
    this.#places.set(eventId, later(state, earlier));
  }

  /** What a power loss took never existed: its event ids make new versions. */
  #forgetBuffered(incarnation: string): void {
    for (const { eventId, durability, incarnation: own } of this.#writes.values()) {
      if (own === incarnation && durability === 'buffered') this.#places.delete(eventId);
    }
  }
}

function later(state: State, known: State | undefined): State {
  return known && known.version > state.version ? known : state;
}

function keyOf({ taskId, tag }: State): string {
  return `${taskId}/${tag}`;
}
