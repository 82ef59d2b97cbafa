// A value that must not reach a log, an error or a screen. It prints as `***` wherever it is converted to text
// by accident; only `reveal` returns it.
import { inspect } from 'node:util';

const HIDDEN = '***';

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}
