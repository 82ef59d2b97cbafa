// One beat for all streams: events of a few milliseconds travel together, and 1 000 streams cost one timer.
//
// A stream that has just sent waits for the next beat before it looks for more. One that was quiet sends its next
// event at once: waiting costs time only where there is much to join.
//
// A frame costs much the same whatever it holds. So the longer a beat took to send, the longer the next one waits:
// sending gets a fifth of the time, and a server that is busy makes fewer and larger frames instead of falling
// behind. Streams are woken some at a time: answers to writes must not wait for all of them.
import { jobsLimits } from '@syncline/jobs';
import { FrameCache } from '@syncline/jobs/grpc';
import type { Clock } from '@syncline/kernel';

/** Of waiting, for each part of sending. */
const WAITS_PER_SENDING = 4;

export class FrameBeat {
  /** Those of one beat share what is the same for them. */
  readonly frames = new FrameCache();
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  /** From the moment that somebody waits until all of a beat have sent. */
  #isUnderWay = false;
  #waitMs: number = jobsLimits.frameWaitMs.value;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** Resolves within `frameWaitMs`, or up to `frameWaitMaxMs` after those who are being woken have sent. */
  next(): Promise<void> {
    if (!this.#isUnderWay) this.#setTimer();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #setTimer(): void {
    this.#isUnderWay = true;
    this.#clock.setTimer(this.#waitMs, () => {
      const due = this.#waiting;
      this.#waiting = [];
      this.#wake(due, { start: 0, startMs: this.#clock.monotonicMs() });
    });
  }

  #wake(
    due: readonly (() => void)[],
    { start, startMs }: { readonly start: number; readonly startMs: number },
  ): void {
    const end = start + jobsLimits.frameStreamsMax.value;
    for (const wake of due.slice(start, end)) wake();
    // By then they have sent, and what was readable meanwhile is handled.
    this.#clock.defer(() => {
      if (end < due.length) this.#wake(due, { start: end, startMs });
      else this.#end(startMs);
    });
  }

  #end(startMs: number): void {
    const { frameWaitMs, frameWaitMaxMs } = jobsLimits;
    const wantedMs = WAITS_PER_SENDING * (this.#clock.monotonicMs() - startMs);
    this.#waitMs = Math.min(Math.max(wantedMs, frameWaitMs.value), frameWaitMaxMs.value);
    this.#isUnderWay = false;
    this.frames.clear();
    if (this.#waiting.length > 0) this.#setTimer();
  }
}
