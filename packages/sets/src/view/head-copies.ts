// Views while nothing can be folded, as on a full disk: the head is copied and laid over the storage.
//
// Writes wait while it is copied, in slices, and never for those who read the copy. They would most likely be
// refused then anyway. All views that are opened until the next commit share one copy. A change that
// slipped through, of one that was let in just before, is noticed, and copying begins again.
//
// S10  At most COPIES_MAX copies are in use, each within the limits of the head.
import { type Clock, type Storage, SynclineError } from '@syncline/kernel';
import type { Commits } from '../commit/commits.js';
import type { KeyspaceView } from '../keyspace.js';
import type { SetsState } from '../state/sets-state.js';
import type { TurnShare } from '../turn-share.js';
import { HeadCopy } from './head-copy.js';
import { OverlaidView } from './overlaid-view.js';
import { SnapshotView, type SnapshotViewDeps } from './snapshot-view.js';

const COPIES_MAX = 2;
/** Rows between two looks at the clock. */
const STEPS = 128;

export interface HeadCopiesDeps extends SnapshotViewDeps {
  readonly storage: Storage;
  readonly state: SetsState;
  readonly commits: Commits;
  readonly clock: Clock;
  readonly turns: Pick<TurnShare, 'breathe'>;
  /** No write begins until what it gives is called. */
  pauseWrites(): () => void;
  /** Rises with every change of memory, those that are taken back included. */
  changesCount(): number;
}

export class HeadCopies {
  readonly #deps: HeadCopiesDeps;
  #newest: HeadCopy | undefined;
  #older: HeadCopy[] = [];
  #making: Promise<void> | undefined;

  constructor(deps: HeadCopiesDeps) {
    this.#deps = deps;
  }

  /** All sets as they are stored, in the journal or folded, at a moment not before this call. */
  async openView(): Promise<KeyspaceView> {
    const { storage, commits, random } = this.#deps;
    await commits.allSettled().catch(() => undefined); // what is applied by now is stored, or undone
    for (;;) {
      await storage.whenReadable();
      const copy = this.#newest;
      // Nothing beyond the copy can be folded yet, so the storage is not ahead of it.
      if (copy !== undefined && copy.number === commits.settled) {
        return new OverlaidView({ copy, random, stored: new SnapshotView(this.#deps) });
      }
      this.#making ??= this.#make().finally(() => {
        this.#making = undefined;
      });
      await this.#making;
    }
  }

  /** Folding works again: only open views need their copies. */
  forget(): void {
    if (this.#newest !== undefined) this.#older.push(this.#newest);
    this.#newest = undefined;
    this.#older = this.#older.filter(({ viewsCount }) => viewsCount > 0);
  }

  async #make(): Promise<void> {
    this.forget();
    if (this.#older.length >= COPIES_MAX) throw tooManyCopies(this.#older.length);
    const { clock, commits, changesCount } = this.#deps;
    const resume = this.#deps.pauseWrites();
    try {
      // Those who were let in before write within this turn.
      await new Promise<void>((resolve) => clock.defer(resolve));
      let copy: HeadCopy;
      let changes: number;
      do {
        while (commits.newest > 0) await commits.allSettled().catch(() => undefined);
        changes = changesCount();
        copy = await this.#copy();
      } while (changes !== changesCount());
      this.#newest = copy;
    } finally {
      resume();
    }
  }

  async #copy(): Promise<HeadCopy> {
    const { state, commits, turns, hash } = this.#deps;
    const { setsCount } = state;
    const copy = new HeadCopy({ hash }, { number: commits.settled, setsCount });
    let steps = 0;
    for (const { set, row } of state.head.rows()) {
      copy.add(set, row);
      steps += 1;
      if (steps % STEPS === 0) await turns.breathe();
    }
    return copy;
  }
}

function tooManyCopies(count: number): SynclineError {
  return new SynclineError(
    'storage-full',
    `changes cannot be written to their final place, and ${count} readers of large sets still hold copies of ` +
      'them. Give the disk room, or try again when those readers are done.',
  );
}
