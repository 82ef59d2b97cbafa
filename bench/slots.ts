// Limits concurrency: a limited number of tasks run, and the others wait.
export class Slots {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #takenCount = 0;

  constructor(max: number) {
    this.#max = max;
  }

  async run<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#takenCount === this.#max)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#takenCount += 1;
    try {
      return await act();
    } finally {
      const next = this.#waiting.shift(); // it takes over the place
      if (next === undefined) this.#takenCount -= 1;
      else next();
    }
  }
}
