// One promise at a time, for as long as somebody has to wait.

export class Waiter {
  #promise: Promise<void> | undefined;
  #resolve: () => void = () => {};
  #reject: (thrown: unknown) => void = () => {};

  get isWaiting(): boolean {
    return this.#promise !== undefined;
  }

  wait(): Promise<void> {
    this.#promise ??= new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    return this.#promise;
  }

  release(): void {
    if (this.#promise === undefined) return;
    this.#promise = undefined;
    this.#resolve();
  }

  fail(thrown: unknown): void {
    if (this.#promise === undefined) return;
    this.#promise = undefined;
    this.#reject(thrown);
  }
}
