// When streams send: in beats, and some at a time.
//
// Beat   Events of a few milliseconds travel together, and 1 000 streams cost one timer. A stream that has just sent
//        waits for the next beat before it looks for more. One that was quiet sends its next event at once: waiting
//        costs time only where there is much to join. A frame costs much the same whatever it holds, so the longer a
//        beat took to send, the longer the next one waits: sending gets a fifth of the time, and a server that is
//        busy makes fewer and larger frames instead of falling behind.
// Turn   Few streams send in one turn of the event loop, also those that are behind and have more at hand: answers to
//        writes must not wait for all of them.
import { jobsLimits } from '@syncline/jobs';
import { FrameCache } from '@syncline/jobs/grpc';
import type { Clock } from '@syncline/kernel';

/** Of waiting, for each part of sending. */
const WAITS_PER_SENDING = 4;

export class FrameBeat {
  /** Those of one beat share what is the same for them. */
  readonly frames = new FrameCache();
  readonly #clock: Clock;
  /** For the next beat. */
  #waiting: (() => void)[] = [];
  /** For their turn, in order. */
  readonly #due: (() => void)[] = [];
  /** From the moment that somebody waits until all of a beat have sent. */
  #isBeating = false;
  #isTurning = false;
  #waitMs: number = jobsLimits.frameWaitMs.value;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** For more events: resolves within `frameWaitMs`, or up to `frameWaitMaxMs` after the last beat has sent. */
  next(): Promise<void> {
    if (!this.#isBeating) this.#setTimer();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** For who has more to send already. */
  turn(): Promise<void> {
    if (!this.#isTurning) {
      this.#isTurning = true;
      this.#clock.defer(() => this.#turn());
    }
    return new Promise((resolve) => this.#due.push(resolve));
  }

  #setTimer(): void {
    this.#isBeating = true;
    this.#clock.setTimer(this.#waitMs, () => {
      const startMs = this.#clock.monotonicMs();
      for (const wake of this.#waiting) this.#due.push(wake);
      this.#waiting = [];
      this.#due.push(() => this.#clock.defer(() => this.#endBeat(startMs)));
      if (!this.#isTurning) this.#turn();
    });
  }

  #turn(): void {
    for (const wake of this.#due.splice(0, jobsLimits.frameStreamsMax.value)) wake();
    // By then they have sent, and what was readable meanwhile is handled.
    this.#isTurning = this.#due.length > 0;
    if (this.#isTurning) this.#clock.defer(() => this.#turn());
  }

  #endBeat(startMs: number): void {
    const { frameWaitMs, frameWaitMaxMs } = jobsLimits;
    const wantedMs = WAITS_PER_SENDING * (this.#clock.monotonicMs() - startMs);
    this.#waitMs = Math.min(Math.max(wantedMs, frameWaitMs.value), frameWaitMaxMs.value);
    this.#isBeating = false;
    this.frames.clear();
    if (this.#waiting.length > 0) this.#setTimer();
  }
}
