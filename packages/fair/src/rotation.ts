// Which two windows the structures belong to. In window k the main structure has the seed of k - 1 and
// is warm, the secondary that of k; at the boundary the secondary becomes main and an empty one starts.
// So two flows that share their cells are separated within two windows, and no history is lost abruptly.
//
// Seeds follow the wall clock, since instances must agree on them without communication; it may step. A small
// step back keeps the pair until time catches up. Reading the wall clock costs as much as hashing a key, so
// within a window it is read only every 100 ms of monotonic time.
//
// F19  Without a step of more than two windows, seeds never go back.
import type { Clock, Logger } from '@syncline/kernel';
import type { FlowTable } from './flow-table.js';

/** A step of more windows than this is accepted, in either direction. */
const STEP_WINDOWS_MAX = 2;
/** How long a step of the wall clock may go unnoticed. */
const LOOK_EVERY_MS = 100;

export interface RotationDeps {
  readonly table: FlowTable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The windows have changed, and `lostCells` cells lost pending outcomes. */
  onRotated?(lostCells: number): void;
}

export class Rotation {
  readonly #deps: RotationDeps;
  readonly #windowMs: number;
  /** Start of the current window, in wall time. */
  #startMs: number;
  /** Wall minus monotonic time at the last check: it changes only when a clock steps. */
  #clockOffsetMs: number;
  /** Monotonic time of the next check: the end of the window at the latest. */
  dueAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: RotationDeps, windowMs: number) {
    const { clock, table } = deps;
    const wallMs = clock.nowMs();
    this.#deps = deps;
    this.#windowMs = windowMs;
    this.#startMs = seedOf(wallMs, windowMs);
    this.#clockOffsetMs = wallMs - clock.monotonicMs();
    table.restart(this.#startMs - windowMs, this.#startMs);
  }

  /** Hot: one comparison, except every 100 ms. */
  advance(monotonicMs: number): void {
    if (monotonicMs < this.dueAtMs) return;
    const wallMs = this.#deps.clock.nowMs();
    const stepMs = wallMs - monotonicMs - this.#clockOffsetMs;
    this.#enter(seedOf(wallMs, this.#windowMs), wallMs, stepMs);
    this.#clockOffsetMs = wallMs - monotonicMs;
    const leftMs = this.#startMs + this.#windowMs - wallMs;
    this.dueAtMs = monotonicMs + Math.min(LOOK_EVERY_MS, leftMs);
  }

  #enter(seed: number, wallMs: number, stepMs: number): void {
    const stepMsMax = STEP_WINDOWS_MAX * this.#windowMs;
    const isBehind = wallMs < this.#startMs && this.#startMs - wallMs <= stepMsMax;
    if (seed === this.#startMs || isBehind) return;
    const { table, logger } = this.#deps;
    // An idle tracker skips windows too, but then monotonic time has moved with the wall clock.
    const isStep = seed < this.#startMs || stepMs > stepMsMax;
    const isNext = seed === this.#startMs + this.#windowMs;
    const lostCells = isNext ? table.advance(seed) : table.restart(seed - this.#windowMs, seed);
    this.#startMs = seed;
    this.#deps.onRotated?.(lostCells);
    if (isStep) {
      logger.warn('the wall clock jumped; fair throttling starts over', { stepMs });
    }
  }
}

/** The start of the window that contains this time, in ms since 1970. */
function seedOf(wallMs: number, windowMs: number): number {
  return Math.floor(wallMs / windowMs) * windowMs;
}
