// How many more cells the default namespace may hold in Redis. Its seeds lie in several slots, so no script
// sees all of them: each counts its own cells, and we add them up, once a second while there are changes.
//
// Changes of ours that are in flight count as if all their cells were new. The script refuses a change that
// would add more cells than it has room for, and before a refusal is reported the cells are counted again.
// Cells that other services add within a second are not seen, so the limit may be exceeded by that much.
import { type Clock, SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { SeedChange } from './seed-change.js';
import type { SeedRegister } from './seed-register.js';

const COUNT_EVERY_MS = 1_000;
/** Its name selects the seeds; the rest does not matter here. */
const DEFAULT_NAMESPACE = {
  name: '',
  rule: { policy: 'sum' },
  shape: undefined,
  windowMs: 0,
} as const;

export interface DefaultRoomDeps {
  readonly clock: Clock;
  readonly register: SeedRegister;
}

export class DefaultRoom {
  readonly #deps: DefaultRoomDeps;
  /** The last count plus everything sent since. */
  #cellsCount = 0;
  #sentCount = 0;
  #counting: Promise<void> | undefined;
  #countedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: DefaultRoomDeps) {
    this.#deps = deps;
  }

  /** Sends a change with the room that there is for it. Throws `limit-exceeded`. */
  async take(cellsCount: number, send: (room: number) => Promise<SeedChange>): Promise<SeedChange> {
    if (this.#deps.clock.monotonicMs() - this.#countedAtMs >= COUNT_EVERY_MS) await this.#count();
    const change = await this.#sendOnce(cellsCount, send);
    if (change.origin !== 'full') return change;
    await this.#count();
    const again = await this.#sendOnce(cellsCount, send);
    if (again.origin !== 'full') return again;
    const { value } = fairLimits.defaultCellsMax;
    throw new SynclineError(
      'limit-exceeded',
      `the default namespace in Redis would hold more than ${value} cells. Use fewer rows and columns, or a named tracker.`,
      { details: { limit: 'defaultCellsMax', limitValue: value } },
    );
  }

  async #sendOnce(
    cellsCount: number,
    send: (room: number) => Promise<SeedChange>,
  ): Promise<SeedChange> {
    const room = Math.max(0, fairLimits.defaultCellsMax.value - this.#cellsCount);
    this.#cellsCount += cellsCount;
    this.#sentCount += cellsCount;
    try {
      return await send(room);
    } finally {
      this.#sentCount -= cellsCount;
    }
  }

  /** Changes sent before and during the count may not be included, so they are added. */
  #count(): Promise<void> {
    const count = async () => {
      const [cellsBefore, sentBefore] = [this.#cellsCount, this.#sentCount];
      const counted = await this.#deps.register.cellsCount(DEFAULT_NAMESPACE);
      this.#cellsCount += counted + sentBefore - cellsBefore;
      this.#countedAtMs = this.#deps.clock.monotonicMs();
    };
    this.#counting ??= count().finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }
}
