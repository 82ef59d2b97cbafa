// Hands a group of writes to LevelDB: each value sealed, a slice at a time.
//
// A slice ends after so many operations or bytes, not after some time, so that what it does is the same on
// every machine. Operations go straight to the native batch. `put` of the library would first make an
// object with options and encodings of each, which takes twice as long as the rest; only the first one
// goes that way, for a batch without any would not be written. The array form of a batch would hold the
// event loop 18 times longer.
import type { ChainedBatch } from 'classic-level';
import { kernelLimits } from '../limits.js';
import type { LevelDatabase } from './level-open.js';
import { ValueSealer } from './sealed-value.js';
import type { StorageOperation } from './storage-batch.js';
import type { WriteGroup } from './write-queue.js';

/** What the library asks of every kind of store. Keys and values are bytes, as the store is opened. */
interface NativeBatch extends ChainedBatch<LevelDatabase, Uint8Array, Uint8Array> {
  _put(key: Uint8Array, value: Uint8Array): void;
  _del(key: Uint8Array): void;
}

/** One for all: LevelDB copies a sealed value at once. */
const sealer = new ValueSealer();

export class LevelFeed {
  readonly #group: WriteGroup;
  readonly #batch: NativeBatch;
  #batchIndex = 0;
  #operationIndex = 0;

  constructor(database: LevelDatabase, group: WriteGroup) {
    this.#group = group;
    this.#batch = database.batch() as NativeBatch;
  }

  /** Hands over the next slice; true when everything is handed over. */
  advance(): boolean {
    const { storageSliceOperationsMax, storageSliceBytesMax } = kernelLimits;
    let operationsLeft = storageSliceOperationsMax.value;
    let bytesLeft = storageSliceBytesMax.value;
    for (let operation = this.#next(); operation !== undefined; operation = this.#next()) {
      this.#hand(operation);
      operationsLeft -= 1;
      bytesLeft -= operation.kind === 'put' ? operation.value.length : operation.key.length;
      if (operationsLeft === 0 || bytesLeft <= 0) return false;
    }
    return true;
  }

  write(): Promise<void> {
    return this.#batch.write({ sync: this.#group.durability === 'synced' });
  }

  /** Nothing of it is written. */
  abandon(): Promise<void> {
    return this.#batch.close();
  }

  #next(): StorageOperation | undefined {
    const { batches } = this.#group;
    for (let batch = batches[this.#batchIndex]; batch; batch = batches[this.#batchIndex]) {
      const operation = batch.operations[this.#operationIndex];
      this.#operationIndex += 1;
      if (operation !== undefined) return operation;
      this.#batchIndex += 1;
      this.#operationIndex = 0;
    }
    return undefined;
  }

  #hand(operation: StorageOperation): void {
    const { key } = operation;
    const isFirst = this.#batch.length === 0;
    if (operation.kind === 'put') {
      const sealed = sealer.seal(key, operation.value);
      if (isFirst) this.#batch.put(key, sealed);
      else this.#batch._put(key, sealed);
    } else if (isFirst) this.#batch.del(key);
    else this.#batch._del(key);
  }
}
