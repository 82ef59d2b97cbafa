// A value that must not end up in a log, an error or on a screen. Converted to text it is `***`; only `reveal`
// returns the value.
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
