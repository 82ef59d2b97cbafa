// Keeps the memory of sets within its limit: those not used for longest leave.
//
// Elements with changes that are not folded stay, since only memory has them. So sets without such
// changes go first, and of the others only what is folded. A set that is being loaded stays as it is. What
// leaves is found in the storage. A large set leaves in slices; from the first one on it is not whole.
import type { MemorySet } from '../state/memory-set.js';
import type { SetsState } from '../state/sets-state.js';
import type { TurnShare } from '../turn-share.js';

/** Elements between two looks at the clock. */
const STEPS = 128;
/** How much more memory must be taken before an attempt that did not help is made again. */
const RETRY_BYTES = 1024 * 1024;
/** About what a set takes besides its elements and its name. */
const SET_BYTES = 512;

export interface EvictionDeps {
  readonly state: Pick<SetsState, 'registry' | 'unload' | 'heap'>;
  readonly turns: TurnShare;
}

export class Eviction {
  readonly bytesMax: number;
  readonly #deps: EvictionDeps;
  #running: Promise<void> | undefined;
  /** The last attempt did not help; below this another one would not either, unless something was folded. */
  #retryAtBytes = 0;

  constructor(deps: EvictionDeps, options: { readonly bytesMax: number }) {
    this.#deps = deps;
    this.bytesMax = options.bytesMax;
  }

  /** Memory of all sets that are in memory. */
  get bytes(): number {
    const { state } = this.#deps;
    const { size, nameBytes } = state.registry;
    return state.heap.usedBytes + size * SET_BYTES + nameBytes;
  }

  /** Starts to let sets go if there is too much. Cheap: call it often. */
  check(): void {
    const { bytes } = this;
    if (this.#running !== undefined || bytes <= this.bytesMax || bytes < this.#retryAtBytes) return;
    void this.#start(undefined);
  }

  /** Elements that could not leave before may leave now. */
  folded(): void {
    this.#retryAtBytes = 0;
    this.check();
  }

  /** True when there is room, after letting go of sets other than this one. */
  async makeRoom(except: MemorySet): Promise<boolean> {
    while (this.bytes > this.bytesMax && this.#running !== undefined) await this.#running;
    if (this.bytes > this.bytesMax) await this.#start(except);
    return this.bytes <= this.bytesMax;
  }

  #start(except: MemorySet | undefined): Promise<void> {
    this.#running = this.#run(except).finally(() => {
      this.#running = undefined;
      this.#retryAtBytes = this.bytes > this.bytesMax ? this.bytes + RETRY_BYTES : 0;
    });
    return this.#running;
  }

  async #run(except: MemorySet | undefined): Promise<void> {
    await Promise.resolve(); // a command that found its sets whole and is then admitted runs before
    await this.#walk((set) => set !== except && !set.isLoading && set.isClean);
    await this.#walk((set) => set !== except && !set.isLoading);
  }

  /**
   * Once from the oldest on, so that many sets which must stay cost one look each. What is used meanwhile
   * moves to the end; if the next one has left memory, the walk ends, and `check` begins another.
   */
  async #walk(isWanted: (set: MemorySet) => boolean): Promise<void> {
    const { state, turns } = this.#deps;
    let looks = 0;
    let set = state.registry.oldest;
    while (set !== undefined && this.bytes > this.bytesMax && state.registry.holds(set)) {
      const { newer }: MemorySet = set;
      looks += 1;
      if (isWanted(set)) await this.#unload(set);
      if (looks % STEPS === 0) await turns.breathe();
      set = newer;
    }
  }

  /** Meanwhile somebody may load it, or a fold may forget it once its last member is removed. */
  async #unload(set: MemorySet): Promise<void> {
    const { state, turns } = this.#deps;
    do {
      if (state.unload(set, STEPS)) return;
      await turns.breathe();
    } while (!set.isLoading && set.table.size > 0);
  }
}
