// Runs tasks with the same key one at a time, in the order of the calls. Keys without a task take no memory.

export class KeyedQueue {
  /** By key: resolves when every task so far has ended. It never rejects. */
  readonly #ends = new Map<string, Promise<unknown>>();

  /**
   * Runs `task` once all tasks before it have ended, even if they failed. If the signal fires first, it runs at once, so that
   * it can end; later tasks still wait for those before it.
   */
  run<T>(key: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#ends.get(key);
    const result = before ? untilEnded(before, signal).then(task) : task();
    const end = Promise.allSettled([before, result]).then(() => {
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    });
    this.#ends.set(key, end);
    return result;
  }
}

function untilEnded(before: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const proceed = () => {
      signal?.removeEventListener('abort', proceed);
      resolve();
    };
    if (signal?.aborted) return proceed();
    signal?.addEventListener('abort', proceed);
    void before.then(proceed);
  });
}
