// The status of a client, for `tracker.status()`, gauges and the log.
import type { SynclineError } from '@syncline/kernel';

/** Why the shared state refuses this instance. */
export interface Refusal {
  /** What must be the same on all instances: `policy`, `key_check` (the secret) and so on. */
  readonly field: string | undefined;
  readonly message: string;
}

export interface ClientStatus {
  readonly connected: boolean;
  readonly epoch: number;
  readonly activeInstances: number;
  readonly pendingCells: number;
  /** Since the last message from the service; undefined if there was none. */
  readonly msSinceSync: number | undefined;
  readonly gain: number;
  readonly refused: Refusal | undefined;
}

export function refusalOf(error: SynclineError | undefined): Refusal | undefined {
  const field = error?.details['field'];
  return error && { field: typeof field === 'string' ? field : undefined, message: error.message };
}
