// What one connection may still do in this turn of the event loop: a number of commands, and a time.
import type { Clock } from '@syncline/kernel';
import { setsLimits } from '../limits.js';
import type { TurnCounter } from './turn-counter.js';

/** Asking the clock costs as much as a tenth of a command. */
const COMMANDS_PER_LOOK = 4;
/** 1 KiB of arguments and reply weighs like a further command. */
const WEIGHT_SHIFT = 10;

export class TurnBudget {
  readonly #clock: Clock;
  readonly #turns: TurnCounter;
  #turn = -1;
  #commandsLeft = 0;
  #timeLeftMs = 0;
  #untilLook = COMMANDS_PER_LOOK;
  #startedMs = 0;

  constructor(clock: Clock, turns: TurnCounter) {
    this.#clock = clock;
    this.#turns = turns;
  }

  /** Commands are about to run. */
  start(nowMs: number): void {
    const turn = this.#turns.current();
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#commandsLeft = setsLimits.turnCommandsMax.value;
      this.#timeLeftMs = setsLimits.turnTimeMs.value;
    }
    this.#startedMs = nowMs;
    this.#untilLook = COMMANDS_PER_LOOK;
  }

  /** A command ran that took and gave so many bytes, and may have walked many more. False: the others are next. */
  spend(bytes: number, hasWalked: boolean): boolean {
    this.#commandsLeft -= 1;
    if (this.#commandsLeft <= 0) return false;
    this.#untilLook -= 1 + (bytes >> WEIGHT_SHIFT);
    if (this.#untilLook > 0 && !hasWalked) return true;
    this.#untilLook = COMMANDS_PER_LOOK;
    return this.#clock.monotonicMs() - this.#startedMs < this.#timeLeftMs;
  }

  /** They ran, or some of them. */
  stop(nowMs: number): void {
    this.#timeLeftMs -= nowMs - this.#startedMs;
  }
}
