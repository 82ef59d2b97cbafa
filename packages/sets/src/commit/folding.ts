// When the head is folded, and how fast.
//
// A trigger sets a target: fold everything up to this commit. Triggers are the size of the head, its age,
// idleness, and whoever asks by `foldAll` (views, start, stop). One batch is under way at a time; each
// covers a prefix of the journal, so stopping between two of them is always safe. While clients write and
// nobody waits for the fold, it rests between batches (fold-pace.ts).
//
//   resting ─ trigger ─▶ waiting for a commit ─▶ building, in slices ─▶ writing ─▶ building … ─▶ resting
//                                                       └─ no room ─▶ tried again each second
import {
  type Clock,
  type Logger,
  type Metrics,
  type Storage,
  type StorageBatch,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import { setsLimits } from '../limits.js';
import type { FoldBatch } from '../state/fold-batch.js';
import type { SetsState } from '../state/sets-state.js';
import { foldRestMs } from './fold-pace.js';

const RETRY_MS = 1_000;
/** Elements between two looks at the clock. */
const STEPS = 128;
/** The journal is folded at the same part of its limit as the entries. */
const FOLD_BYTES_MIN =
  (setsLimits.headBytesMax.value * setsLimits.foldEntriesMin.value) /
  setsLimits.headEntriesMax.value;

/** What folding asks of the sets. */
export type Foldable = Pick<
  SetsState,
  | 'headEntries'
  | 'headBytes'
  | 'foldedNumber'
  | 'gatheringNumber'
  | 'isGathering'
  | 'nextFold'
  | 'folded'
>;

export interface FoldingDeps {
  readonly state: Foldable;
  readonly storage: Pick<Storage, 'write'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** The head has become smaller. */
  onFolded(): void;
  onFailed(error: SynclineError): void;
}

interface Waiter {
  /** The commit up to which it wants everything folded. */
  readonly target: number;
  readonly resolve: () => void;
  readonly reject: (error: SynclineError) => void;
}

export class Folding {
  readonly #deps: FoldingDeps;
  #waiters: Waiter[] = [];
  /** Fold up to this commit. */
  #target = 0;
  /** When the target was set: what is not folded once it is reached is younger. */
  #targetSetMs = 0;
  /** No commit that is not folded is older. */
  #oldestMs = 0;
  #lastCommitMs = 0;
  #isRunning = false;
  #isStopped = false;
  #tick: Timer | undefined;
  #retry: Timer | undefined;
  /** Ends the rest between two pieces of work. */
  #endRest: (() => void) | undefined;
  #batchesCount = 0;
  #failure: SynclineError | undefined;

  constructor(deps: FoldingDeps) {
    this.#deps = deps;
  }

  /** Batches that were written since the start. */
  get batchesCount(): number {
    return this.#batchesCount;
  }

  /** Why the last batch could not be written; undefined when it could. */
  get failure(): SynclineError | undefined {
    return this.#failure;
  }

  /** The head as a part of its limits: 1 is full. */
  get fill(): number {
    const { headEntries, headBytes } = this.#deps.state;
    const { headEntriesMax, headBytesMax } = setsLimits;
    return Math.max(headEntries / headEntriesMax.value, headBytes / headBytesMax.value);
  }

  /** Folds what was there before the first commit. */
  start(): void {
    this.#begin();
  }

  /** Call it after each commit: it may be time to fold, and what waited for the commit can go on. */
  committed(): void {
    const { state, clock } = this.#deps;
    this.#lastCommitMs = clock.monotonicMs();
    if (this.#tick === undefined) {
      this.#oldestMs = this.#lastCommitMs;
      this.#planTick(setsLimits.foldIdleMs.value);
    }
    const isLarge = state.headEntries >= setsLimits.foldEntriesMin.value;
    if (isLarge || state.headBytes >= FOLD_BYTES_MIN) this.#begin();
    else this.#wake();
  }

  /** A commit was undone: nobody need wait for it any more. */
  undone(): void {
    this.#release();
    this.#wake();
  }

  /** Folds everything up to now, commits under way included. Rejects when it cannot be written, or has stopped. */
  foldAll(): Promise<void> {
    const target = this.#newest;
    if (this.#isReached(target)) return Promise.resolve();
    if (this.#isStopped) return Promise.reject(stoppedError());
    return new Promise((resolve, reject) => {
      this.#waiters.push({ target, resolve, reject });
      this.#raiseTarget(target);
      this.#endRest?.();
      this.#tryAgain();
    });
  }

  /** Ends all timers, and refuses those who wait. A batch under way is not waited for. */
  stop(): void {
    this.#isStopped = true;
    this.#tick?.cancel();
    this.#retry?.cancel();
    this.#endRest?.();
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(stoppedError());
  }

  /** The newest commit, under way or still gathered. */
  get #newest(): number {
    const { gatheringNumber, isGathering } = this.#deps.state;
    return isGathering ? gatheringNumber : gatheringNumber - 1;
  }

  /** What was undone need not be folded. */
  #isReached(target: number): boolean {
    return this.#deps.state.foldedNumber >= Math.min(target, this.#newest);
  }

  get #isUrgent(): boolean {
    const idleMs = this.#deps.clock.monotonicMs() - this.#lastCommitMs;
    return this.#waiters.length > 0 || idleMs >= setsLimits.foldIdleMs.value;
  }

  #planTick(ms: number): void {
    if (this.#isStopped) return;
    this.#tick = this.#deps.clock.setTimer(ms, () => this.#onTick(), { unref: true });
  }

  /** Runs while the head is not empty, so that no commit needs a timer of its own. */
  #onTick(): void {
    this.#tick = undefined;
    if (this.#isReached(this.#newest)) return;
    const { foldIdleMs, foldAgeMs } = setsLimits;
    const nowMs = this.#deps.clock.monotonicMs();
    const idleMs = nowMs - this.#lastCommitMs;
    const isIdle = idleMs >= foldIdleMs.value;
    if (isIdle || nowMs - this.#oldestMs >= foldAgeMs.value) this.#begin();
    this.#planTick(isIdle ? foldIdleMs.value : foldIdleMs.value - idleMs);
  }

  #begin(): void {
    if (this.#isReached(this.#target)) this.#raiseTarget(this.#newest);
    this.#wake();
  }

  #raiseTarget(target: number): void {
    this.#target = target;
    this.#targetSetMs = this.#deps.clock.monotonicMs();
  }

  #tryAgain(): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    this.#wake();
  }

  #wake(): void {
    if (this.#isRunning || this.#isStopped || this.#retry !== undefined) return;
    if (this.#isReached(this.#target)) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    let failure: SynclineError | undefined;
    while (failure === undefined && !this.#isStopped && !this.#isReached(this.#target)) {
      const fold = this.#deps.state.nextFold();
      if (fold === undefined) break; // its commit is under way and will wake us
      failure = await this.#fold(fold);
    }
    this.#isRunning = false;
    if (failure !== undefined) this.#fail(failure);
  }

  /** Gives why the batch could not be written. What is wrong with ourselves is not caught: the process stops. */
  async #fold(fold: FoldBatch): Promise<SynclineError | undefined> {
    const { state, clock, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    const workMs = await this.#build(fold);
    const failure = await this.#write(fold.batch);
    if (failure !== undefined) return failure;
    state.folded(fold);
    this.#failure = undefined;
    this.#batchesCount += 1;
    metrics.observe('syncline_sets_fold_seconds', (clock.monotonicMs() - startMs) / 1000);
    this.#release();
    this.#deps.onFolded();
    // The storage took the batch in turns of its own, which took about as long as building it.
    if (!this.#isReached(this.#target)) await this.#rest(workMs);
    return undefined;
  }

  async #write(batch: StorageBatch): Promise<SynclineError | undefined> {
    try {
      await this.#deps.storage.write(batch, { durability: 'synced' });
      return undefined;
    } catch (thrown) {
      return SynclineError.from(thrown, 'storage-failed');
    }
  }

  /** Gives how long it was at work. */
  async #build(fold: FoldBatch): Promise<number> {
    const { clock } = this.#deps;
    let builtMs = 0;
    let sliceStartMs = clock.monotonicMs();
    while (!fold.advance(STEPS)) {
      const workMs = clock.monotonicMs() - sliceStartMs;
      if (workMs < setsLimits.turnTimeMs.value) continue;
      builtMs += workMs;
      await this.#rest(workMs);
      sliceStartMs = clock.monotonicMs();
    }
    return builtMs + clock.monotonicMs() - sliceStartMs;
  }

  /** Gives others their turn, and more of it the less urgent folding is. */
  #rest(workMs: number): Promise<void> {
    const { clock } = this.#deps;
    const restMs = this.#isUrgent ? 0 : foldRestMs(workMs, this.fill);
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel();
        this.#endRest = undefined;
        resolve();
      };
      const timer = restMs === 0 ? clock.defer(end) : clock.setTimer(restMs, end);
      this.#endRest = end;
    });
  }

  #release(): void {
    if (this.#isReached(this.#target)) this.#oldestMs = this.#targetSetMs;
    const reached = this.#waiters.filter(({ target }) => this.#isReached(target));
    if (reached.length === 0) return;
    this.#waiters = this.#waiters.filter(({ target }) => !this.#isReached(target));
    for (const { resolve } of reached) resolve();
  }

  /** Nothing is lost: the journal still holds all that the batch would have folded. */
  #fail(error: SynclineError): void {
    this.#failure = error;
    const waiters = this.#waiters;
    this.#waiters = [];
    if (!this.#isStopped && error.retryable) {
      this.#retry = this.#deps.clock.setTimer(RETRY_MS, () => this.#tryAgain(), { unref: true });
    }
    this.#deps.onFailed(error);
    for (const { reject } of waiters) reject(error);
  }
}

function stoppedError(): SynclineError {
  return new SynclineError('closed', 'server is shutting down');
}
