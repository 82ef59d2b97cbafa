// Runs tasks with the same key one at a time, in the order of the calls.

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `task` once the one before it has ended, however it did. A task whose signal fires waits no longer. */
  async run<T>(key: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#last.get(key);
    const turn = before ? endOf(before, signal).then(task) : task();
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}

function endOf(task: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const goOn = () => {
      signal?.removeEventListener('abort', goOn);
      resolve();
    };
    signal?.addEventListener('abort', goOn);
    task.then(goOn, goOn);
  });
}
