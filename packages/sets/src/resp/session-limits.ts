// What one connection may do: how much within a turn of the event loop, and how long it may keep us waiting.
//
// The system delivers many chunks of one busy socket within a turn, so the budget is per turn, not per chunk.
// Deadlines are checked about once a second.
import { type Clock, SynclineError } from '@syncline/kernel';
import { setsLimits } from '../limits.js';

/** Reading the clock costs as much as a tenth of a command. Commands that walk sets or are large count for more. */
const COMMANDS_PER_CHECK = 16;
/** 1 KiB of arguments and reply weighs like another command. */
const WEIGHT_SHIFT = 10;

/**
 * The time that all connections together have used in this turn of the event loop. First run those whose bytes have
 * just arrived, then, while time is left, those that were postponed, in order, and those that have used up their
 * own time. While any are postponed, new chunks wait behind them: otherwise a few busy ones would always come first.
 */
export class SharedTurn {
  readonly clock: Clock;
  number = 0;
  usedMs = 0;
  #postponed: TurnBudget[] = [];
  #used: TurnBudget[] = [];
  #isCounting = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Whether a connection may run commands in this turn. If not, its `resume` is called in a later one. */
  admits(budget: TurnBudget): boolean {
    this.#count();
    const isFirst = budget.isNext || this.#postponed.length === 0;
    if (isFirst && this.leftMs > 0) return true;
    this.#postponed.push(budget);
    return false;
  }

  /** Its `resume` is called in the next turn, or as soon as there is time. */
  resumeLater(budget: TurnBudget): void {
    this.#used.push(budget);
    this.#count();
  }

  #count(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.clock.defer(this.#end);
  }

  get leftMs(): number {
    return setsLimits.turnTotalMs.value - this.usedMs;
  }

  readonly #end = (): void => {
    this.#isCounting = false;
    this.number += 1;
    const waiting = [...this.#postponed, ...this.#used];
    this.#postponed = [];
    this.#used = [];
    let resumed = 0;
    for (; resumed < waiting.length && this.leftMs > 0; resumed += 1)
      waiting[resumed]?.resumeNext();
    this.#postponed.unshift(...waiting.slice(resumed));
    this.usedMs = 0;
    if (this.#postponed.length > 0) this.#count();
  };
}

export class TurnBudget {
  readonly #shared: SharedTurn;
  readonly #resume: () => void;
  #turn = -1;
  #commandsLeft = 0;
  #timeLeftMs = 0;
  #commandsUntilCheck = COMMANDS_PER_CHECK;
  #startedMs = 0;
  #untilMs = 0;
  /** It has waited, and all that are before it in line have run. */
  isNext = false;

  /** `resume` is called when a connection that waits may run. */
  constructor(shared: SharedTurn, resume: () => void) {
    this.#shared = shared;
    this.#resume = resume;
  }

  resumeNext(): void {
    this.isNext = true;
    this.#resume();
    this.isNext = false;
  }

  /** False: other connections have used up this turn, or are next. This one is resumed when it may run. */
  start(nowMs: number): boolean {
    if (!this.#shared.admits(this)) return false;
    const turn = this.#shared.number;
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#commandsLeft = setsLimits.turnCommandsMax.value;
      this.#timeLeftMs = setsLimits.turnTimeMs.value;
    }
    this.#startedMs = nowMs;
    this.#untilMs = nowMs + Math.min(this.#timeLeftMs, this.#shared.leftMs);
    this.#commandsUntilCheck = COMMANDS_PER_CHECK;
    return true;
  }

  /** Charges one command with the bytes that it took and answered. False: other connections are next. */
  spend(bytes: number, hasWalked: boolean): boolean {
    this.#commandsLeft -= 1;
    if (this.#commandsLeft <= 0) return false;
    this.#commandsUntilCheck -= 1 + (bytes >> WEIGHT_SHIFT);
    if (this.#commandsUntilCheck > 0 && !hasWalked) return true;
    this.#commandsUntilCheck = COMMANDS_PER_CHECK;
    return this.#shared.clock.monotonicMs() < this.#untilMs;
  }

  stop(nowMs: number): void {
    const usedMs = nowMs - this.#startedMs;
    this.#timeLeftMs -= usedMs;
    this.#shared.usedMs += usedMs;
  }
}

export type OverdueReason = 'half-command' | 'unauthenticated' | 'idle' | 'slow-reader';

export interface SessionSituation {
  readonly isAuthenticated: boolean;
  /** A command is running, or its replies are not accepted: then it is not idle. */
  readonly isBusy: boolean;
  /** Much is not accepted, or no part of a large reply. */
  readonly isReaderSlow: boolean;
  readonly isMidCommand: boolean;
  readonly lastActiveMs: number;
  /** 0: it may be idle for ever. */
  readonly idleTimeoutMs: number;
}

export class SessionDeadlines {
  #midCommandSinceMs: number;
  #unauthenticatedSinceMs: number;
  #slowSinceMs: number;

  constructor(nowMs: number) {
    this.#midCommandSinceMs = nowMs;
    this.#unauthenticatedSinceMs = nowMs;
    this.#slowSinceMs = nowMs;
  }

  /** From here on an incomplete command is a new one. */
  commandBegins(nowMs: number): void {
    this.#midCommandSinceMs = nowMs;
  }

  overdue(nowMs: number, now: SessionSituation): OverdueReason | undefined {
    const { unauthenticatedTimeoutMs, outputSlowMs, commandTimeoutMs } = setsLimits;
    if (now.isAuthenticated) this.#unauthenticatedSinceMs = nowMs;
    if (!now.isReaderSlow) this.#slowSinceMs = nowMs;
    // While we do not read, the rest of a command cannot arrive.
    if (!now.isMidCommand || now.isBusy) this.#midCommandSinceMs = nowMs;
    if (nowMs - this.#unauthenticatedSinceMs >= unauthenticatedTimeoutMs.value)
      return 'unauthenticated';
    if (nowMs - this.#slowSinceMs >= outputSlowMs.value) return 'slow-reader';
    if (nowMs - this.#midCommandSinceMs >= commandTimeoutMs.value) return 'half-command';
    const isIdle = now.idleTimeoutMs > 0 && nowMs - now.lastActiveMs >= now.idleTimeoutMs;
    return isIdle && !now.isBusy ? 'idle' : undefined;
  }
}

/** For a caller that must wait until replies have been sent. */
export function deferred() {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

export function disconnectedError(): SynclineError {
  return new SynclineError('closed', 'the client has closed its connection');
}
