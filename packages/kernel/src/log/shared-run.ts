// Runs one thing at a time for many callers. A caller that comes while a run is in flight may have changed
// something that the run no longer sees, so it waits for the next run, together with all who come before
// that one starts.

export class SharedRun {
  readonly #run: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(run: () => Promise<void>) {
    this.#run = run;
  }

  /** Settles with a run that starts now or later. */
  request(): Promise<void> {
    if (this.#next !== undefined) return this.#next; // also when the run before it has just ended
    if (this.#running === undefined) return this.#start();
    this.#next = this.#running
      .catch(() => {}) // its own callers get the error
      .then(() => {
        this.#next = undefined;
        return this.#start();
      });
    return this.#next;
  }

  #start(): Promise<void> {
    const running = this.#run().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
