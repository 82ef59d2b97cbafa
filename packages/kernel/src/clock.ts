// Time as a port. Cores use a Clock, so that a simulation can run a day in a second.

export interface Clock {
  /** Wall time in ms since 1970. It may step; use it to name moments, never to measure. */
  nowMs(): number;
  /** Monotonic time in ms since some start. It never goes back. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with `aborted` as soon as the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once after `ms`. An unreferenced timer does not keep the process alive. */
  setTimer(ms: number, callback: () => void, options?: { readonly unref?: boolean }): Timer;
  /** Calls back once what is already readable in this turn of the event loop has been handled. */
  defer(callback: () => void): Timer;
}

export interface Timer {
  /** Does nothing if the timer has fired or was cancelled. */
  cancel(): void;
}
