// Consecutive waits that one signal can abort.
//
// Racing against a long-lived promise keeps every result alive until that promise settles, and adding a
// listener per wait costs more than the wait itself. Here a single listener ends the current wait.

export class AbortableWaits {
  readonly #signal: AbortSignal;
  #end: (() => void) | undefined;

  /** The listener is never removed: the signal lives no longer than these waits. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#end?.(), { once: true });
  }

  /** Settles like the promise, or with 'aborted' as soon as the signal fires. Only one wait at a time. */
  wait<T>(promise: Promise<T>): Promise<T | 'aborted'> {
    return new Promise((resolve, reject) => {
      this.#end = (): void => resolve('aborted');
      if (this.#signal.aborted) this.#end();
      promise.then(resolve, reject); // even after the end, so that a late failure is not unhandled
    });
  }
}
