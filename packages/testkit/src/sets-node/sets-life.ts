// One life of the process: the steps that its operations made, and what its clients sent and were told.
//
// A command knows how many operations were stored when it was sent and when its answer came. Whatever it
// saw lies between the two.
import type { RespReply } from './resp-replies.js';
import type { SetsStep } from './sets-step.js';

/** A command, or a whole transaction. */
export interface Sent {
  readonly words: readonly (readonly string[])[];
  readonly isTransaction: boolean;
  /** Operations that were stored when it was sent. */
  readonly storedBefore: number;
  /** Undefined: it was never answered, so nobody knows what became of it. */
  answer: Answer | undefined;
}

export interface Answer {
  /** One per command; those of a transaction are within the last. */
  readonly replies: readonly RespReply[];
  /** Operations that were stored when it came. */
  readonly storedAfter: number;
}

export class SetsLife {
  /** `steps[n]` is after n operations of this life; the first is what was found. */
  readonly steps: SetsStep[];
  /** Operations of this life that are as durable as configured. */
  storedCount = 0;
  /** What each client sent, in order. */
  readonly clients: Sent[][] = [];

  constructor(found: SetsStep) {
    this.steps = [found];
  }
}
