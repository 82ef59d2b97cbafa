// Limits how many views, or calls to a database, are open at once. Others wait, first come, first served.
//
// A view pins old data in the storage, and a few dozen clients that do not read could block all others. Therefore, while
// anyone waits, the holders of views are asked, oldest first, whether they are stalled and can release theirs.
import { abortedError, assert, type Clock, kernelLimits, type Timer } from '@syncline/kernel';

export interface Slot extends Disposable {
  /** Called while others wait. Returns whether the slot will be released now. */
  tryRelease?: () => boolean;
  /** Call it exactly once. */
  release(): void;
}

export interface SlotsDeps {
  readonly clock: Pick<Clock, 'setTimer'>;
  onChanged?(takenCount: number): void;
}

export class Slots {
  readonly #deps: SlotsDeps;
  readonly #slotsMax: number;
  /** Oldest first. */
  readonly taken = new Set<Slot>();
  readonly waiting = new Set<() => void>();
  readonly #onFree: (() => void)[] = [];
  #recallTimer: Timer | undefined;

  constructor(deps: SlotsDeps, slotsMax: number) {
    this.#deps = deps;
    this.#slotsMax = slotsMax;
  }

  async take(signal?: AbortSignal): Promise<Slot> {
    if (signal?.aborted) throw abortedError('waiting for the store', signal);
    if (this.taken.size < this.#slotsMax) return this.#take();
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.waiting.delete(wake);
        signal?.removeEventListener('abort', giveUp);
        if (this.waiting.size > 0) return;
        this.#recallTimer?.cancel();
        this.#recallTimer = undefined;
      };
      const wake = () => {
        leave();
        resolve(this.#take()); // at once, so that no one else can take it in between
      };
      const giveUp = () => {
        leave();
        if (signal) reject(abortedError('waiting for the store', signal));
      };
      this.waiting.add(wake);
      signal?.addEventListener('abort', giveUp);
      this.#recallTimer ??= this.#scheduleRecall();
    });
  }

  /** Resolves when no slot is taken and no one is waiting for one. */
  async free(): Promise<void> {
    if (this.taken.size > 0) await new Promise<void>((resolve) => this.#onFree.push(resolve));
  }

  #take(): Slot {
    const report = () => this.#deps.onChanged?.(this.taken.size);
    const slot: Slot = {
      release: () => {
        assert(this.taken.delete(slot), 'a slot is released once');
        const [next] = this.waiting;
        next?.();
        report();
        if (this.taken.size === 0) for (const resolve of this.#onFree.splice(0)) resolve();
      },
      [Symbol.dispose]: () => slot.release(),
    };
    this.taken.add(slot);
    report();
    return slot;
  }

  /** Asks holders until one slot per waiter is released. The release is asynchronous. */
  #scheduleRecall(): Timer {
    const { value: stallMs } = kernelLimits.feedViewStallMs;
    return this.#deps.clock.setTimer(stallMs, () => {
      this.#recallTimer = this.#scheduleRecall();
      let missing = this.waiting.size;
      for (const slot of [...this.taken]) {
        if (missing === 0) return;
        if (slot.tryRelease?.()) missing -= 1;
      }
    });
  }
}
