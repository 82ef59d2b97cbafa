// Lets a bounded number of views be open at once. Further ones wait their turn, first come, first served.
//
// A view pins old data of the storage, and a stalled replay holds one for `replayAgeMaxMs`.
import { abortedError, assert } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';

export class ViewSlots {
  readonly #slotsMax: number;
  readonly #waiting = new Set<() => void>();
  readonly #onFree: (() => void)[] = [];
  #takenCount = 0;

  constructor(slotsMax: number = jobsLimits.openSnapshotsMax.value) {
    this.#slotsMax = slotsMax;
  }

  get takenCount(): number {
    return this.#takenCount;
  }

  /** Resolves with what gives the slot back, to be called once. Rejects with `aborted`. */
  async take(signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted) throw abortedError('waiting for a view of the store', signal);
    if (this.#takenCount < this.#slotsMax) this.#takenCount += 1;
    else await this.#waitForSlot(signal);
    let isTaken = true;
    return () => {
      assert(isTaken, 'a slot is given back once');
      isTaken = false;
      this.#giveBack();
    };
  }

  /** When none is taken. Whoever waits for a slot comes first. */
  async free(): Promise<void> {
    if (this.#takenCount > 0) await new Promise<void>((resolve) => this.#onFree.push(resolve));
  }

  /** A slot that is handed on stays counted: nobody can come between. */
  #giveBack(): void {
    const [next] = this.#waiting;
    if (next) next();
    else this.#takenCount -= 1;
    if (this.#takenCount === 0) for (const resolve of this.#onFree.splice(0)) resolve();
  }

  #waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(wake);
        signal?.removeEventListener('abort', giveUp);
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
    });
  }
}
