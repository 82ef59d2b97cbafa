// How long a connection may be idle, stay unknown, leave a command half sent or its replies unread.
//
// It is looked at about once a second, and told what stands at that moment.
import { setsLimits } from '../limits.js';

export type OverdueReason = 'half-command' | 'stranger' | 'idle' | 'slow-reader';

/** What stands at the moment of a look. */
export interface SessionSituation {
  readonly isAuthenticated: boolean;
  /** A command runs, or its replies are not taken: then it is not idle. */
  readonly isBusy: boolean;
  /** Much is not taken, or nothing of a large reply. */
  readonly isReaderSlow: boolean;
  readonly isMidCommand: boolean;
  readonly lastActiveMs: number;
  /** 0: any. */
  readonly idleTimeoutMs: number;
}

export class SessionDeadlines {
  /** When the command of which a part is here began. */
  #midCommandSinceMs: number;
  #strangerSinceMs: number;
  #slowSinceMs: number;

  constructor(nowMs: number) {
    this.#midCommandSinceMs = nowMs;
    this.#strangerSinceMs = nowMs;
    this.#slowSinceMs = nowMs;
  }

  /** From here on a half command is a new one. */
  commandBegins(nowMs: number): void {
    this.#midCommandSinceMs = nowMs;
  }

  overdue(nowMs: number, now: SessionSituation): OverdueReason | undefined {
    if (now.isAuthenticated) this.#strangerSinceMs = nowMs;
    if (!now.isReaderSlow) this.#slowSinceMs = nowMs;
    // While we do not read, the rest of a command cannot arrive.
    if (!now.isMidCommand || now.isBusy) this.#midCommandSinceMs = nowMs;
    if (nowMs - this.#strangerSinceMs >= setsLimits.strangerTimeoutMs.value) return 'stranger';
    if (nowMs - this.#slowSinceMs >= setsLimits.outputSlowMs.value) return 'slow-reader';
    if (nowMs - this.#midCommandSinceMs >= setsLimits.commandTimeoutMs.value) return 'half-command';
    const isIdle = now.idleTimeoutMs > 0 && nowMs - now.lastActiveMs >= now.idleTimeoutMs;
    return isIdle && !now.isBusy ? 'idle' : undefined;
  }
}
