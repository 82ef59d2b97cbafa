// What a run is given by `start`: its settings, and its ways to report, to save and to close.
import type { Logger } from '@syncline/kernel';
import type { PaceSettings } from './checkpoint-pace.js';
import type { PipelineProgress, ProgressGate } from './progress.js';
import type { RecoveryDeps } from './recovery.js';
import type { RunMetrics } from './run-metrics.js';

export interface RunSettings extends PaceSettings {
  readonly stopGraceMs: number;
  readonly memoryStateBytesMax: number;
  readonly checkpointTimeoutMs: number;
}

export interface RunDeps extends RecoveryDeps {
  readonly settings: RunSettings;
  readonly progress: ProgressGate;
  /** Writes the status file; never fails. */
  readonly report: (progress: PipelineProgress) => void;
  readonly close: () => Promise<void>;
  /** Adds advice for the user to an error. */
  readonly explain: (thrown: unknown) => Promise<unknown>;
  /** Writes a savepoint of the last epoch; automatic ones have no name. */
  readonly save: (name: string | undefined, epoch: number) => Promise<string>;
  readonly logger: Logger;
  readonly metrics: RunMetrics;
}
