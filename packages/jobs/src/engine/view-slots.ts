// Limits the number of views that are open at once. Others wait, first come, first served.
//
// A view pins old data in the storage, and a stalled replay would hold one for `replayAgeMaxMs`, so a few dozen clients
// that do not read could block all others. Therefore, while anyone waits, the holders of views are asked, oldest first,
// whether they are stalled and can release theirs.
import { abortedError, assert, type Clock, kernelLimits, type Timer } from '@syncline/kernel';
import type { JobsMetrics } from '../metrics-list.js';

export interface ViewSlot {
  /** `letGo` is called while others wait. It returns whether the slot will be given back now. */
  onWanted(letGo: () => boolean): void;
  /** Call it exactly once. */
  giveBack(): void;
}

interface Taken {
  letGo?: () => boolean;
}

export interface ViewSlotsDeps {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly metrics: JobsMetrics;
}

export class ViewSlots {
  readonly #deps: ViewSlotsDeps;
  readonly #slotsMax: number;
  /** Oldest first. */
  readonly #taken = new Set<Taken>();
  readonly #waiting = new Set<() => void>();
  readonly #onFree: (() => void)[] = [];
  #takenCount = 0;
  #askTimer: Timer | undefined;

  constructor(deps: ViewSlotsDeps, slotsMax: number) {
    this.#deps = deps;
    this.#slotsMax = slotsMax;
  }

  get takenCount(): number {
    return this.#takenCount;
  }

  async take(signal?: AbortSignal): Promise<ViewSlot> {
    if (signal?.aborted) throw abortedError('waiting for a view of the store', signal);
    if (this.#takenCount < this.#slotsMax) this.#takenCount += 1;
    else await this.#waitForSlot(signal);
    const taken: Taken = {};
    this.#taken.add(taken);
    this.#report();
    return {
      onWanted: (letGo) => {
        taken.letGo = letGo;
      },
      giveBack: () => {
        assert(this.#taken.delete(taken), 'a slot is given back once');
        this.#giveBack();
      },
    };
  }

  /** Resolves when no slot is taken and no one is waiting for one. */
  async free(): Promise<void> {
    if (this.#takenCount > 0) await new Promise<void>((resolve) => this.#onFree.push(resolve));
  }

  /** A slot that is passed on stays counted, so that no one else can take it in between. */
  #giveBack(): void {
    const [next] = this.#waiting;
    if (next) next();
    else this.#takenCount -= 1;
    this.#report();
    if (this.#takenCount === 0) for (const resolve of this.#onFree.splice(0)) resolve();
  }

  #waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(wake);
        signal?.removeEventListener('abort', giveUp);
        if (this.#waiting.size > 0) return;
        this.#askTimer?.cancel();
        this.#askTimer = undefined;
      };
      const wake = () => {
        leave();
        resolve();
      };
      const giveUp = () => {
        leave();
        if (signal) reject(abortedError('waiting for a view of the store', signal));
      };
      this.#waiting.add(wake);
      signal?.addEventListener('abort', giveUp);
      this.#askTimer ??= this.#askLater();
    });
  }

  #askLater(): Timer {
    const { value: stallMs } = kernelLimits.feedViewStallMs;
    return this.#deps.clock.setTimer(stallMs, () => {
      this.#askTimer = this.#askLater();
      this.#ask();
    });
  }

  /** Asks holders until one slot per waiter is released. The slots are given back asynchronously. */
  #ask(): void {
    let missing = this.#waiting.size;
    for (const { letGo } of [...this.#taken]) {
      if (missing === 0) return;
      if (letGo?.()) missing -= 1;
    }
  }

  #report(): void {
    this.#deps.metrics.set('syncline_jobs_open_snapshots', this.#takenCount);
  }
}
