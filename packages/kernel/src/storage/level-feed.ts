// Passes a group of writes to LevelDB: each value sealed, a slice at a time.
//
// A slice ends after a fixed number of operations or bytes, not after some time, so that it behaves the same on every
// machine. Operations go straight to the native batch. The library's `put` would first create an object with options
// and encodings for each, which takes twice as long as the rest. Only the first operation uses it, since a batch
// without any would not be written. The array form of a batch would block the event loop 18 times longer.
import type { ChainedBatch } from 'classic-level';
import { kernelLimits } from '../limits.js';
import type { LevelDatabase } from './level-open.js';
import { copyBytes, ScratchBytes } from './scratch-bytes.js';
import { CHECKSUM_BYTES, sealValue } from './sealed-value.js';
import type { StorageBatch } from './storage-batch.js';
import type { WriteGroup } from './write-queue.js';

/** The methods that the library requires of every kind of batch. Keys and values are bytes, as the store was opened. */
interface NativeBatch extends ChainedBatch<LevelDatabase, Uint8Array, Uint8Array> {
  _put(key: Uint8Array, value: Uint8Array): void;
  _del(key: Uint8Array): void;
}

/** Shared by all: LevelDB copies keys and sealed values immediately. */
const keys = new ScratchBytes();
const sealedValues = new ScratchBytes();

export class LevelFeed {
  readonly #group: WriteGroup;
  readonly #batch: NativeBatch;
  #batchIndex = 0;
  #operationIndex = 0;
  /** Where the next operation starts in the content of its batch. */
  #position = 0;

  constructor(database: LevelDatabase, group: WriteGroup) {
    this.#group = group;
    this.#batch = database.batch() as NativeBatch;
  }

  /** Passes on the next slice; true when everything was passed on. */
  advance(): boolean {
    const { storageSliceOperationsMax, storageSliceBytesMax } = kernelLimits;
    let operationsLeft: number = storageSliceOperationsMax.value;
    let bytesLeft: number = storageSliceBytesMax.value;
    for (let batch = this.#next(); batch !== undefined; batch = this.#next()) {
      if (operationsLeft === 0 || bytesLeft <= 0) return false;
      const start = this.#position;
      this.#hand(batch);
      operationsLeft -= 1;
      bytesLeft -= this.#position - start;
    }
    return true;
  }

  write(): Promise<void> {
    return this.#batch.write({ sync: this.#group.durability === 'synced' });
  }

  /** Nothing of it has been written yet. */
  abandon(): Promise<void> {
    return this.#batch.close();
  }

  /** The batch that the next operation is in. */
  #next(): StorageBatch | undefined {
    const { batches } = this.#group;
    for (;;) {
      const batch = batches[this.#batchIndex];
      if (batch === undefined || this.#operationIndex < batch.length) return batch;
      this.#batchIndex += 1;
      this.#operationIndex = 0;
      this.#position = 0;
    }
  }

  #hand(batch: StorageBatch): void {
    const { content } = batch;
    const index = this.#operationIndex;
    const start = this.#position;
    const valueStart = start + batch.keyBytes(index);
    const valueBytes = batch.valueBytes(index);
    const key = keys.lend(valueStart - start);
    copyBytes(key, content, start, valueStart);
    const isFirst = this.#batch.length === 0;
    if (batch.isDelete(index)) {
      if (isFirst) this.#batch.del(key);
      else this.#batch._del(key);
    } else {
      const sealed = sealedValues.lend(valueBytes + CHECKSUM_BYTES);
      sealValue(sealed, content, start, valueStart);
      if (isFirst) this.#batch.put(key, sealed);
      else this.#batch._put(key, sealed);
    }
    this.#operationIndex += 1;
    this.#position = valueStart + valueBytes;
  }
}
