// Puts the changes of one seed in order. They arrive on two ways, ours as answers and those of others as
// news, and the counter `n` in each says where it belongs.
//
//   unknown --snapshot--> in order --n is the next--> delivered
//                            |------n is further-----> held, until what is missing has come or been read
//                            '------n is not new-----> included already
//
// Whoever holds a copy of the cells overwrites them with each delivery, so an older value must never
// follow a newer one. A delivery that resolves a promise takes effect when its owner runs on, so what comes
// behind it waits for the next turn of the event loop.
//
// F60  No older value follows a newer one, and what was missed is read.
import type { Clock, Timer } from '@syncline/kernel';
import { fairLimits } from '../limits.js';

export interface Delivery {
  readonly n: number;
  readonly life: string;
  /** It resolves a promise. */
  readonly isAnswer: boolean;
  /** `isIncluded`: a newer reading of the whole seed was delivered before. */
  deliver(isIncluded: boolean): void;
}

export interface SeedFeedDeps {
  readonly clock: Clock;
  /** Something is missing: read the seed and hand it to `snapshot`. */
  onGap(kind: 'first' | 'missed'): void;
  /** The keys of this seed were lost and have begun anew. */
  onNewLife(): void;
}

export class SeedFeed {
  readonly #deps: SeedFeedDeps;
  readonly #held = new Map<number, Delivery>();
  readonly #outgoing: (() => void)[] = [];
  #life: string | undefined;
  #lastN: number | undefined;
  #isOrdered: boolean;
  #isPaused = false;
  #gapTimer: Timer | undefined;

  constructor(deps: SeedFeedDeps, isOrdered: boolean) {
    this.#deps = deps;
    this.#isOrdered = isOrdered;
  }

  /** The number up to which all was delivered; undefined if that is not known. */
  get lastN(): number | undefined {
    return this.#lastN;
  }

  get life(): string | undefined {
    return this.#life;
  }

  offer(delivery: Delivery): void {
    if (this.#life !== undefined && this.#life !== delivery.life) this.#beginAnew();
    this.#life = delivery.life;
    if (delivery.n === 1) this.#lastN ??= 0;
    const isOld = this.#lastN !== undefined && delivery.n <= this.#lastN;
    if (isOld && !delivery.isAnswer) return;
    if (isOld || !this.#isOrdered) {
      if (delivery.n === (this.#lastN ?? Number.NaN) + 1) this.#lastN = delivery.n;
      this.#send(delivery, isOld);
      return;
    }
    this.#held.set(delivery.n, delivery);
    this.#deliverHeld();
    if (this.#held.size > 0) this.#waitForMissing();
  }

  /** The whole seed as of change `n`, or a little later. */
  snapshot(snapshot: Delivery): void {
    if (this.#life !== undefined && this.#life !== snapshot.life) this.#beginAnew();
    this.#life = snapshot.life;
    this.#lastN = Math.max(snapshot.n, this.#lastN ?? 0);
    this.#send(snapshot, false);
    for (const [n, delivery] of this.#held) {
      if (n > this.#lastN) continue;
      this.#held.delete(n);
      if (delivery.isAnswer) this.#send(delivery, true);
    }
    this.#deliverHeld();
  }

  /** False: news may be missing, so answers are not held back for what may never come. */
  setOrdered(isOrdered: boolean): void {
    this.#isOrdered = isOrdered;
    if (isOrdered) this.#deps.onGap('first');
    else this.#release();
  }

  close(): void {
    this.#release();
  }

  #beginAnew(): void {
    this.#release();
    this.#lastN = undefined;
    this.#deps.onNewLife();
  }

  #release(): void {
    this.#gapTimer?.cancel();
    this.#gapTimer = undefined;
    const held = [...this.#held.values()].sort((left, right) => left.n - right.n);
    this.#held.clear();
    for (const delivery of held) this.#send(delivery, false);
  }

  #deliverHeld(): void {
    if (this.#lastN === undefined) return;
    for (let next = this.#held.get(this.#lastN + 1); next !== undefined; ) {
      this.#held.delete(next.n);
      this.#lastN = next.n;
      this.#send(next, false);
      next = this.#held.get(next.n + 1);
    }
    if (this.#held.size > 0) return;
    this.#gapTimer?.cancel();
    this.#gapTimer = undefined;
  }

  #waitForMissing(): void {
    if (this.#held.size > fairLimits.redisHeldChangesMax.value) {
      for (const [n, { isAnswer }] of this.#held) if (!isAnswer) this.#held.delete(n);
    }
    const isFirst = this.#lastN === undefined;
    if (this.#gapTimer !== undefined) return;
    if (isFirst) this.#deps.onGap('first');
    this.#gapTimer = this.#deps.clock.setTimer(
      fairLimits.redisGapWaitMs.value,
      () => {
        this.#gapTimer = undefined;
        if (this.#held.size === 0) return;
        this.#deps.onGap('missed');
        this.#waitForMissing();
      },
      { unref: true },
    );
  }

  #send(delivery: Delivery, isIncluded: boolean): void {
    this.#outgoing.push(() => {
      delivery.deliver(isIncluded);
      this.#isPaused = delivery.isAnswer;
    });
    if (!this.#isPaused) this.#pump();
  }

  #pump(): void {
    for (let next = this.#outgoing.shift(); next !== undefined; next = this.#outgoing.shift()) {
      next();
      if (!this.#isPaused) continue;
      this.#deps.clock.defer(() => {
        this.#isPaused = false;
        this.#pump();
      });
      return;
    }
  }
}
