// Lets one loop wait for any of several events, each of which wakes it.

export class Wake {
  #isAwake = false;
  #resolve: (() => void) | undefined;

  readonly call = (): void => {
    this.#isAwake = true;
    this.#resolve?.();
    this.#resolve = undefined;
  };

  /** Resolves at the next call, or immediately if there was one since the last wait. */
  async wait(): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    }
    this.#isAwake = false;
  }
}
