// What a command answers with. Values that Redis gives differently in RESP3 have one method, which knows
// the protocol of the connection; so a command says what it means and never asks for the version.
import type { ByteList } from '../byte-list.js';

export interface Reply {
  integer(value: number): void;
  /** `buffer` from `start` to `end`, copied. */
  bulk(buffer: Uint8Array, start: number, end: number): void;
  bulkText(text: string): void;
  /** An item of a list: of the arguments, mostly. */
  bulkOf(list: ByteList, index: number): void;
  simple(text: string): void;
  /** With its prefix, without the dash: `ERR syntax error`. Line ends become blanks. */
  error(text: string): void;
  /** `$-1` / `_`. */
  nullBulk(): void;
  /** `*-1` / `_`. */
  nullArray(): void;
  /** The next `length` replies are its items. */
  array(length: number): void;
  /** An array in RESP2. */
  set(length: number): void;
  /** Twice as many replies follow; a flat array in RESP2. */
  map(length: number): void;
  /** A bulk string in RESP2. */
  verbatim(text: string): void;
  /** Encoded before, for a reply that never changes. */
  raw(bytes: Uint8Array): void;
  /** Names the end of what was written, for `rewind`. */
  mark(): number;
  /** Takes back what was written since the mark. False: some of it has left, so nothing was taken back. */
  rewind(mark: number): boolean;
  /**
   * Undefined while there is room. Else a promise: wait with the rest of a large reply. It rejects with
   * `closed` when the client is gone.
   */
  room(): Promise<void> | undefined;
}
