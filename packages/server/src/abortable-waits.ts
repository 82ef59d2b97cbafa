// Waits that follow each other and all end when one signal fires.
//
// A race against a long-lived promise keeps every result alive until that promise settles, and a
// listener per wait costs more than the wait. Here one listener ends the current wait.

export class AbortableWaits {
  readonly #signal: AbortSignal;
  #end: (() => void) | undefined;

  /** The signal has the same lifetime as these waits, so the listener is not removed. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#end?.(), { once: true });
  }

  /** Settles like the promise, or at once with 'aborted'. One at a time. */
  wait<T>(promise: Promise<T>): Promise<T | 'aborted'> {
    return new Promise((resolve, reject) => {
      this.#end = (): void => resolve('aborted');
      if (this.#signal.aborted) this.#end();
      promise.then(resolve, reject); // even after the end, so that a late failure is not unhandled
    });
  }
}
