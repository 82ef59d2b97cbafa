// Lets a bounded number of views be open at once. Further ones wait their turn, first come, first served.
//
// A view pins old data of the storage, and a stalled replay would hold one for `replayAgeMaxMs`: a few dozen clients
// that do not read could keep everybody else from reading at all. So while somebody waits, those who hold a view
// are asked, the oldest first, whether they stand still and can let it go.
import { abortedError, assert, type Clock, kernelLimits, type Timer } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';

export interface ViewSlot {
  /** `letGo` is called while others wait. It says whether the slot will be given back now. */
  onWanted(letGo: () => boolean): void;
  /** To be called once. */
  giveBack(): void;
}

interface Taken {
  letGo?: () => boolean;
}

export class ViewSlots {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #slotsMax: number;
  /** Oldest first. */
  readonly #taken = new Set<Taken>();
  readonly #waiting = new Set<() => void>();
  readonly #onFree: (() => void)[] = [];
  #takenCount = 0;
  #askTimer: Timer | undefined;

  constructor(
    { clock }: { readonly clock: Pick<Clock, 'setTimer'> },
    slotsMax: number = jobsLimits.openSnapshotsMax.value,
  ) {
    this.#clock = clock;
    this.#slotsMax = slotsMax;
  }

  get takenCount(): number {
    return this.#takenCount;
  }

  /** Rejects with `aborted`. */
  async take(signal?: AbortSignal): Promise<ViewSlot> {
    if (signal?.aborted) throw abortedError('waiting for a view of the store', signal);
    if (this.#takenCount < this.#slotsMax) this.#takenCount += 1;
    else await this.#waitForSlot(signal);
    const taken: Taken = {};
    this.#taken.add(taken);
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
    return this.#clock.setTimer(stallMs, () => {
      this.#askTimer = this.#askLater();
      this.#ask();
    });
  }

  /** As many as wait; giving back happens a moment later, and may end the waiting. */
  #ask(): void {
    let missing = this.#waiting.size;
    for (const { letGo } of [...this.#taken]) {
      if (missing === 0) return;
      if (letGo?.()) missing -= 1;
    }
  }
}
