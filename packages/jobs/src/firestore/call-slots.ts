// Lets a bounded number of calls to Firestore be under way at once. Others wait, first come, first served.

export class CallSlots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(slotsMax: number) {
    this.#free = slotsMax;
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await call();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
