// Counts the steps of patterns within a turn: pattern × text of them hold the event loop for minutes, if both are
// as long as they may be.
//
// Who matches many texts looks whether it is tired, lets others have their turn, and rests. The commands of a
// transaction share one meter, since they share one turn.
import { SynclineError } from '@syncline/kernel';
import { setsLimits } from '../limits.js';

const stepsMax = setsLimits.patternStepsMax.value;
const STEPS_PER_TURN = stepsMax / 16;

export class PatternMeter {
  #steps = 0;

  /** Others should have their turn. */
  get isTired(): boolean {
    return this.#steps > STEPS_PER_TURN;
  }

  /** A new turn begins. */
  rest(): void {
    this.#steps = 0;
  }

  /** Throws when the turn would last too long. */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps <= stepsMax) return;
    throw new SynclineError(
      'invalid-argument',
      `the pattern takes more than ${stepsMax} steps, use a shorter one or one with fewer stars`,
      { details: { limit: 'patternStepsMax' } },
    );
  }
}
