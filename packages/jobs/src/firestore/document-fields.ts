// Reads fields of documents. What is not what we wrote is `corrupt`: somebody else wrote it.

import { type DocumentSnapshot, Timestamp } from '@google-cloud/firestore';
import { SynclineError } from '@syncline/kernel';
import type { JsonObject } from '../state.js';

export class DocumentFields {
  readonly #path: string;
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(path: string, values: Readonly<Record<string, unknown>>) {
    this.#path = path;
    this.#values = values;
  }

  /** Undefined: there is no such document. */
  static of(snapshot: DocumentSnapshot): DocumentFields | undefined {
    const data: Readonly<Record<string, unknown>> | undefined = snapshot.data();
    return data && new DocumentFields(snapshot.ref.path, data);
  }

  number(name: string): number {
    const value = this.#values[name];
    return Number.isSafeInteger(value) ? Number(value) : this.#refuse(name, 'a whole number');
  }

  optionalNumber(name: string): number | undefined {
    return this.#values[name] === null ? undefined : this.number(name);
  }

  text(name: string): string {
    const value = this.#values[name];
    return typeof value === 'string' ? value : this.#refuse(name, 'a text');
  }

  optionalText(name: string): string | undefined {
    return this.#values[name] === null ? undefined : this.text(name);
  }

  /** JSON of an object in a text, or null. What is wrong with it is not quoted: it may be a secret. */
  optionalJson(name: string): JsonObject | undefined {
    const text = this.optionalText(name);
    if (text === undefined) return undefined;
    try {
      const value: unknown = JSON.parse(text);
      if (isMap(value) && !Array.isArray(value)) return value as JsonObject;
    } catch {
      // Refused below, as is JSON of something else.
    }
    return this.#refuse(name, 'the JSON of an object');
  }

  flag(name: string): boolean {
    const value = this.#values[name];
    return typeof value === 'boolean' ? value : this.#refuse(name, 'true or false');
  }

  timestampMs(name: string): number {
    const value = this.#values[name];
    return value instanceof Timestamp ? value.toMillis() : this.#refuse(name, 'a timestamp');
  }

  optionalTimestampMs(name: string): number | undefined {
    return this.#values[name] === null ? undefined : this.timestampMs(name);
  }

  texts(name: string): readonly string[] {
    const value = this.#values[name];
    const isTexts = Array.isArray(value) && value.every((item) => typeof item === 'string');
    return isTexts ? value : this.#refuse(name, 'a list of texts');
  }

  /** A list of maps. */
  list(name: string): readonly DocumentFields[] {
    const value = this.#values[name];
    if (!Array.isArray(value)) return this.#refuse(name, 'a list');
    return value.map((item: unknown) =>
      isMap(item)
        ? new DocumentFields(`${this.#path}.${name}`, item)
        : this.#refuse(name, 'a list of maps'),
    );
  }

  #refuse(name: string, wanted: string): never {
    throw new SynclineError(
      'corrupt',
      `the field "${name}" of the Firestore document ${this.#path} is not ${wanted}. Something else than a job store has written it.`,
      { details: { path: this.#path, field: name } },
    );
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
