// Waits that follow each other and all end when one signal fires.
//
// A race against a promise that lives long keeps every result alive until that one settles, and a
// listener per wait costs more than the wait. Here one listener ends the wait that is under way.

export class AbortableWaits {
  readonly #signal: AbortSignal;
  #end: (() => void) | undefined;

  /** The signal ends with its owner, as these waits do: the listener is not taken off. */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#end?.(), { once: true });
  }

  /** Settles like the promise, or at once with 'aborted'. One at a time. */
  wait<T>(promise: Promise<T>): Promise<T | 'aborted'> {
    return new Promise((resolve, reject) => {
      this.#end = (): void => resolve('aborted');
      if (this.#signal.aborted) this.#end();
      promise.then(resolve, reject); // also after the end, so that a late failure is not unhandled
    });
  }
}
