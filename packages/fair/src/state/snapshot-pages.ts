// Messages of snapshots that streams share. In the default namespace nothing decays, so the same cells are the
// same bytes until one of them changes: they are encoded for the first request, and kept for requests shortly
// after.
import type { Clock, Timer } from '@syncline/kernel';
import type { StoreTimes } from './memory-seed.js';
import { collectCells, encodeShared } from './response-frames.js';
import type { SeedMirror } from './seed-mirror.js';

/** How long they are kept. */
const SHARED_MS = 100;

export interface SnapshotPage {
  readonly bytes: Uint8Array;
  /** Where the next one begins; -1 if there is none. */
  readonly nextSlot: number;
}

interface SeedPages {
  readonly version: number;
  readonly byFirstSlot: Map<number, SnapshotPage>;
}

export class SnapshotPages {
  readonly #clock: Clock;
  readonly #seeds = new Map<SeedMirror, SeedPages>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Of a seed in the default namespace, from a slot on. */
  pageOf(mirror: SeedMirror, from: number, times: StoreTimes): SnapshotPage {
    const pages = this.#pagesOf(mirror);
    const known = pages.get(from);
    if (known !== undefined) return known;
    const next = (slot: number) => mirror.nextListed(slot, times.monotonicMs);
    const { cells, nextSlot } = collectCells(mirror, next, from, times);
    const page = { bytes: encodeShared(mirror.seed, cells, 0), nextSlot };
    pages.set(from, page);
    return page;
  }

  close(): void {
    this.#timer?.cancel();
    this.#forget();
  }

  #pagesOf(mirror: SeedMirror): Map<number, SnapshotPage> {
    const { version } = mirror;
    const known = this.#seeds.get(mirror);
    if (known?.version === version) return known.byFirstSlot;
    const byFirstSlot = new Map<number, SnapshotPage>();
    this.#seeds.set(mirror, { version, byFirstSlot });
    this.#timer ??= this.#clock.setTimer(SHARED_MS, () => this.#forget(), { unref: true });
    return byFirstSlot;
  }

  #forget(): void {
    this.#timer = undefined;
    this.#seeds.clear();
  }
}
