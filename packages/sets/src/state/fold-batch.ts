// The batch that folds one generation of the head, built in steps.
import type { StorageBatch } from '@syncline/kernel';

export declare class FoldBatch {
  /** Complete once `advance` gave true. */
  readonly batch: StorageBatch;
  /** The last journal number in it. */
  readonly number: number;
  /** Adds about so many elements or keys to the batch; true when it is complete. */
  advance(stepsMax: number): boolean;
}
