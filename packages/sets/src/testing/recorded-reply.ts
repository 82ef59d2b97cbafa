// A reply that records its content as plain values, for tests of single commands.
import type { ByteList } from '../byte-list.js';
import type { Reply } from '../resp/reply-writer.js';

export type ReplyValue =
  | { readonly kind: 'integer'; readonly value: number }
  | { readonly kind: 'bulk' | 'simple' | 'error' | 'verbatim'; readonly text: string }
  | { readonly kind: 'null-bulk' | 'null-array' }
  | { readonly kind: 'array' | 'set' | 'map'; readonly items: readonly ReplyValue[] };

interface Open {
  readonly items: ReplyValue[];
  readonly length: number;
  readonly kind: 'array' | 'set' | 'map';
}

export class RecordedReply implements Reply {
  readonly values: ReplyValue[] = [];
  readonly #open: Open[] = [];
  #rooms = 0;

  integer(value: number): void {
    this.#push({ kind: 'integer', value });
  }

  bulk(buffer: Uint8Array, start: number, end: number): void {
    this.bulkText(Buffer.from(buffer.subarray(start, end)).toString('latin1'));
  }

  bulkText(text: string): void {
    this.#push({ kind: 'bulk', text });
  }

  bulkOf(list: ByteList, index: number): void {
    this.bulkText(list.text(index));
  }

  simple(text: string): void {
    this.#push({ kind: 'simple', text });
  }

  error(text: string): void {
    this.#push({ kind: 'error', text });
  }

  nullBulk(): void {
    this.#push({ kind: 'null-bulk' });
  }

  nullArray(): void {
    this.#push({ kind: 'null-array' });
  }

  array(length: number): void {
    this.#start('array', length);
  }

  set(length: number): void {
    this.#start('set', length);
  }

  map(length: number): void {
    this.#start('map', length * 2);
  }

  verbatim(text: string): void {
    this.#push({ kind: 'verbatim', text });
  }

  raw(): never {
    throw new Error('raw replies are not recorded');
  }

  /** Full at every third call. */
  room(): Promise<void> | undefined {
    this.#rooms += 1;
    return this.#rooms % 3 === 0 ? Promise.resolve() : undefined;
  }

  mark(): number {
    return this.values.length;
  }

  rewind(mark: number): boolean {
    this.values.length = mark;
    this.#open.length = 0;
    return true;
  }

  #start(kind: Open['kind'], length: number): void {
    const items: ReplyValue[] = [];
    this.#push({ kind, items });
    this.#open.push({ kind, items, length });
    this.#closeFull();
  }

  #push(value: ReplyValue): void {
    const open = this.#open.at(-1);
    (open?.items ?? this.values).push(value);
    if (value.kind !== 'array' && value.kind !== 'set' && value.kind !== 'map') this.#closeFull();
  }

  #closeFull(): void {
    for (let open = this.#open.at(-1); open !== undefined; open = this.#open.at(-1)) {
      if (open.items.length < open.length) return;
      this.#open.pop();
    }
  }
}
