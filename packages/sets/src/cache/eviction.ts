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
/** About what a set takes besides its elements. */
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
    return state.heap.usedBytes + state.registry.size * SET_BYTES;
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
    const { turns } = this.#deps;
    const tried = new Set<MemorySet>();
    await Promise.resolve(); // a command that found its sets whole and is then admitted runs before
    while (this.bytes > this.bytesMax) {
      const isOpen = (set: MemorySet) => set !== except && !set.isLoading && !tried.has(set);
      const set = this.#oldest((one) => one.isClean && isOpen(one)) ?? this.#oldest(isOpen);
      if (set === undefined) return;
      tried.add(set);
      await this.#unload(set);
      await turns.breathe();
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

  #oldest(isWanted: (set: MemorySet) => boolean): MemorySet | undefined {
    let set = this.#deps.state.registry.oldest;
    while (set !== undefined && !isWanted(set)) set = set.newer;
    return set;
  }
}
