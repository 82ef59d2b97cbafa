// Numbers the turns of the event loop, so that a connection knows what it has used of the present one.
//
// The system hands over many chunks of one busy socket within a turn. A limit per chunk would let that
// connection keep all others waiting.
import type { Clock } from '@syncline/kernel';

export class TurnCounter {
  readonly #clock: Clock;
  #turn = 0;
  #isCounting = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of this turn. */
  current(): number {
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#clock.defer(this.#end);
    }
    return this.#turn;
  }

  readonly #end = (): void => {
    this.#isCounting = false;
    this.#turn += 1;
  };
}
