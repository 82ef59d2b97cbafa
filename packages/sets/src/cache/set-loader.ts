// Brings sets into memory as a whole, while writers go on.
//
// A snapshot is taken and read in slices. What is changed meanwhile stays in the set's table, removals
// included, and a stored element is only taken over when the table knows nothing of it: so what is loaded
// is as old as the snapshot, what was changed since is not, and together they are the set of now. Several
// who ask for the same set wait for one load.
import { type Storage, SynclineError } from '@syncline/kernel';
import { ByteList } from '../byte-list.js';
import type { MemorySet } from '../state/memory-set.js';
import type { SetsState } from '../state/sets-state.js';
import type { TurnShare } from '../turn-share.js';
import { elementsBetween } from '../view/stored-ranges.js';
import type { Eviction } from './eviction.js';

/** Elements between two looks at the clock. */
const STEPS = 128;
/** A member of no bytes with its row and its place in the index takes at least so much. */
const ELEMENT_BYTES_MIN = 40;

/** `lost`: the store was opened anew, and the snapshot is gone. */
type Outcome = 'whole' | 'too-large' | 'lost';

export interface SetLoaderDeps {
  readonly state: Pick<
    SetsState,
    'setOf' | 'startLoading' | 'load' | 'finishLoading' | 'abandonLoading'
  >;
  readonly storage: Storage;
  readonly eviction: Eviction;
  readonly turns: TurnShare;
}

export class SetLoader {
  readonly #deps: SetLoaderDeps;
  readonly #loads = new Map<MemorySet, Promise<Outcome>>();

  constructor(deps: SetLoaderDeps) {
    this.#deps = deps;
  }

  /** Resolves when each set is whole or does not fit. */
  async bringIn(names: readonly Uint8Array[]): Promise<void> {
    for (const name of names) {
      while ((await this.#bringInOne(name)) === 'lost');
    }
  }

  async #bringInOne(name: Uint8Array): Promise<Outcome> {
    const { storage, state, eviction } = this.#deps;
    await storage.whenReadable();
    const set = state.setOf(ByteList.of(name), 0);
    if (set.isWhole) return 'whole';
    if (set.cardinality * ELEMENT_BYTES_MIN > eviction.bytesMax) return 'too-large';
    return this.#loads.get(set) ?? this.#start(set);
  }

  #start(set: MemorySet): Promise<Outcome> {
    const load = this.#load(set).finally(() => this.#loads.delete(set));
    this.#loads.set(set, load);
    return load;
  }

  async #load(set: MemorySet): Promise<Outcome> {
    try {
      const outcome = await this.#readAll(set);
      if (outcome === 'whole') this.#deps.state.finishLoading(set);
      else await this.#abandon(set);
      return outcome;
    } catch (thrown) {
      await this.#abandon(set);
      if (thrown instanceof SynclineError && thrown.code === 'unavailable') return 'lost';
      throw thrown;
    }
  }

  async #readAll(set: MemorySet): Promise<Outcome> {
    const { state, storage, eviction, turns } = this.#deps;
    using snapshot = storage.snapshot();
    state.startLoading(set);
    let steps = 0;
    for await (const batch of snapshot.range(elementsBetween(set.name, 0)).batches()) {
      if (!(await eviction.makeRoom(set))) return 'too-large';
      for (const entry of batch) {
        state.load(set, entry);
        steps += 1;
        if (steps % STEPS === 0) await turns.breathe();
      }
    }
    return 'whole';
  }

  async #abandon(set: MemorySet): Promise<void> {
    if (!set.isLoading) return;
    while (!this.#deps.state.abandonLoading(set, STEPS)) await this.#deps.turns.breathe();
  }
}
