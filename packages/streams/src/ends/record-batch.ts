// Decodes records into batches, for sources that read from a server.
import { SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { BadItem, Json, SourceBatch } from './source.js';

/** Streams are partitions: there must be at least one, and no duplicates. */
export function checkStreams(uid: string, streams: readonly string[]): void {
  if (streams.length > 0 && new Set(streams).size === streams.length) return;
  throw new SynclineError(
    'invalid-argument',
    `source "${uid}" needs at least one stream, each named once; got ${JSON.stringify(streams)}`,
    { details: { field: 'streams' } },
  );
}

/** Collects the decoded records of one batch. */
export class RecordBatch<T> {
  readonly items: T[] = [];
  readonly bad: BadItem[] = [];
  #bytes = 0;

  get count(): number {
    return this.items.length + this.bad.length;
  }

  get isFull(): boolean {
    const { batchItemsMax, batchBytesMax } = streamsLimits;
    return this.count >= batchItemsMax.value || this.#bytes >= batchBytesMax.value;
  }

  /** A record that is too long, or for which `decode` throws, becomes a bad item. */
  add(raw: Uint8Array, decode: () => T): void {
    this.#bytes += raw.length;
    const bytesMax = streamsLimits.recordBytesMax.value;
    if (raw.length > bytesMax) {
      this.#addBad(raw, `the record has ${raw.length} bytes, at most ${bytesMax} are allowed`);
      return;
    }
    try {
      this.items.push(decode());
    } catch (thrown) {
      this.#addBad(raw, thrown instanceof Error ? thrown.message : String(thrown));
    }
  }

  toSourceBatch<P extends Json>(position: P): SourceBatch<T, P> {
    const { items, bad } = this;
    return bad.length === 0 ? { items, position } : { items, position, bad };
  }

  #addBad(raw: Uint8Array, reason: string): void {
    this.bad.push({ at: this.items.length, raw, reason });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The default decoder: the whole record is one JSON value in UTF-8. */
export function decodeJson<T>(bytes: Uint8Array): T {
  return JSON.parse(utf8.decode(bytes)) as T;
}
