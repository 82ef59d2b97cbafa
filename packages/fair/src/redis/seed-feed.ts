// Orders the changes of one seed. They arrive by two routes, ours as answers and those of others as published
// messages, and the counter `n` in each gives its position.
//
//   unknown --snapshot--> in order --n is the next--> delivered
//                            |------n is further-----> held, until what is missing has come or been read
//                            '------n is not new-----> included already
//
// The holder of a copy overwrites its cells with each delivery, so an older value must never follow a newer
// one. While the seed is being read, arriving changes may be newer than the read, so they wait for it. A
// delivery that resolves a promise takes effect when its owner continues, so later ones wait for the next turn
// of the event loop.
//
// When keys are lost, their successors have lower values than those known before. These wait for a read as well,
// which starts once it is known that only this seed was lost, or after a timeout. If everything was lost, the
// instances that hold a copy are asked for it, and must not have lowered it before (F14).
//
// F60  No older value follows a newer one, and what was missed is read.
import type { Clock, Timer } from '@syncline/kernel';
import { fairLimits } from '../limits.js';

export interface Delivery {
  readonly n: number;
  readonly incarnation: string;
  /** It resolves a promise. */
  readonly isAnswer: boolean;
  /** `isIncluded`: a newer read of the whole seed was already delivered. */
  deliver(isIncluded: boolean): void;
}

export interface SeedFeedDeps {
  readonly clock: Clock;
  /** Something is missing: read the seed, from `beginReading` to `snapshot` or `endReading`. */
  onGap(kind: 'first' | 'missed'): void;
  /** The keys of this seed were lost and have started over. */
  onNewIncarnation(): void;
}

export class SeedFeed {
  readonly #deps: SeedFeedDeps;
  readonly #held = new Map<number, Delivery>();
  readonly #outgoing: (() => void)[] = [];
  #incarnation: string | undefined;
  #lastN: number | undefined;
  #isOrdered: boolean;
  #isPaused = false;
  #isClosed = false;
  /** During a read: the incarnation when it began. */
  #reading: { readonly incarnation: string | undefined } | undefined;
  /** A new incarnation was found, and its seed not read since. */
  #isNewIncarnation = false;
  /** A read returned nothing; another one is due. */
  #mustRead = false;
  #gapTimer: Timer | undefined;

  constructor(deps: SeedFeedDeps, isOrdered: boolean) {
    this.#deps = deps;
    this.#isOrdered = isOrdered;
  }

  /** The number up to which everything was delivered; undefined if unknown. */
  get lastN(): number | undefined {
    return this.#lastN;
  }

  get incarnation(): string | undefined {
    return this.#incarnation;
  }

  offer(delivery: Delivery): void {
    if (this.#incarnation !== undefined && this.#incarnation !== delivery.incarnation)
      this.#startOver();
    this.#incarnation = delivery.incarnation;
    if (delivery.n === 1) this.#lastN ??= 0;
    if (this.#lastN !== undefined && delivery.n <= this.#lastN) {
      if (delivery.isAnswer) this.#send(delivery, true);
      return;
    }
    const isFirst = this.#lastN === undefined && this.#held.size === 0;
    this.#held.set(delivery.n, delivery);
    this.#settle();
    if (!isFirst || this.#held.size === 0 || this.#reading !== undefined) return;
    if (!this.#isNewIncarnation) this.#deps.onGap('first');
  }

  /** The seed is about to be read. One read at a time: of two the older could arrive last. */
  beginReading(): void {
    this.#stopWaiting();
    this.#reading = { incarnation: this.#incarnation };
  }

  /** The result of the read: the whole seed as of change `n`, or a little later. */
  snapshot(snapshot: Delivery): void {
    const isOutdated =
      this.#incarnation !== this.#reading?.incarnation &&
      this.#incarnation !== snapshot.incarnation;
    if (isOutdated) {
      if (snapshot.isAnswer) this.#send(snapshot, true);
      this.endReading();
      return;
    }
    const isNewIncarnation =
      this.#incarnation !== undefined && this.#incarnation !== snapshot.incarnation;
    if (isNewIncarnation) this.#startOver();
    this.#incarnation = snapshot.incarnation;
    if (isNewIncarnation && !snapshot.isAnswer) {
      this.endReading();
      return;
    }
    this.#lastN = snapshot.n;
    this.#reading = undefined;
    this.#isNewIncarnation = false;
    this.#mustRead = false;
    this.#send(snapshot, false);
    for (const [n, delivery] of this.#held) {
      if (n > snapshot.n) continue;
      this.#held.delete(n);
      if (delivery.isAnswer) this.#send(delivery, true);
    }
    this.#settle();
  }

  /** The read failed, or found nothing. */
  endReading(): void {
    this.#reading = undefined;
    this.#mustRead = true;
    this.#settle();
  }

  /** False: published changes may be missing, so answers do not wait for changes that may never arrive. */
  setOrdered(isOrdered: boolean): void {
    this.#isOrdered = isOrdered;
    if (isOrdered) this.#deps.onGap('first');
    else this.#settle();
  }

  close(): void {
    this.#isClosed = true;
    this.#release();
  }

  #startOver(): void {
    this.#release();
    this.#lastN = undefined;
    this.#isNewIncarnation = true;
    this.#deps.onNewIncarnation();
  }

  /** Delivers what may be delivered now, and waits for what is missing. */
  #settle(): void {
    if (this.#reading === undefined && !this.#isNewIncarnation) {
      if (this.#isOrdered && !this.#isClosed) this.#deliverHeld();
      else this.#release();
    }
    this.#limitHeld();
    if (this.#isWaiting) this.#waitForMissing();
    else this.#stopWaiting();
  }

  /** Delivers everything held, in order, despite gaps. */
  #release(): void {
    this.#stopWaiting();
    const held = [...this.#held.values()].sort((left, right) => left.n - right.n);
    this.#held.clear();
    for (const delivery of held) {
      if (delivery.n - 1 === this.#lastN) this.#lastN = delivery.n;
      this.#send(delivery, false);
    }
  }

  #deliverHeld(): void {
    if (this.#lastN === undefined) return;
    for (let next = this.#held.get(this.#lastN + 1); next !== undefined; ) {
      this.#held.delete(next.n);
      this.#lastN = next.n;
      this.#send(next, false);
      next = this.#held.get(next.n + 1);
    }
  }

  /** Dropped changes leave a gap and are read later: the newest is kept, to reveal the gap. */
  #limitHeld(): void {
    if (this.#held.size <= fairLimits.redisHeldChangesMax.value) return;
    const newest = Math.max(...this.#held.keys());
    for (const [n, { isAnswer }] of this.#held) if (!isAnswer && n !== newest) this.#held.delete(n);
  }

  /** Without pub/sub gaps do not matter here: the seed is read when it is back, or by the next poll. */
  get #isWaiting(): boolean {
    return this.#held.size > 0 || (this.#mustRead && this.#isOrdered);
  }

  #waitForMissing(): void {
    if (this.#reading !== undefined || this.#isClosed) return;
    this.#gapTimer ??= this.#deps.clock.setTimer(
      fairLimits.redisGapWaitMs.value,
      () => {
        this.#gapTimer = undefined;
        this.#deps.onGap(this.#held.size > 0 ? 'missed' : 'first');
        this.#waitForMissing();
      },
      { unref: true },
    );
  }

  #stopWaiting(): void {
    this.#gapTimer?.cancel();
    this.#gapTimer = undefined;
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
