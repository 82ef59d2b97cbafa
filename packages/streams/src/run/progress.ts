// Progress reports of a run: at each change of state, and otherwise at most once a second. A reporter cannot block or
// fail a run.
import { type Clock, createSystemClock, type Logger } from '@syncline/kernel';
import type { Session } from './recovery.js';
import { isOver, type RunState } from './run-state.js';

export interface PipelineProgress {
  readonly pipeline: string;
  /** Number of the worker; 0 without workers. */
  readonly slot: number;
  readonly state: RunState;
  readonly epoch: number;
  readonly generation: number;
  readonly recordsIn: number;
  /** Outputs in committed epochs. */
  readonly recordsOut: number;
  /** Number of records known to be waiting at the sources. */
  readonly lagRecords: number;
  readonly watermarkMs: number | null;
  /** A partition that is not idle and has held back event time for a long time. */
  readonly heldBackBy: string | null;
  /** How long the last checkpoint took. */
  readonly lastCheckpointMs: number | null;
  /** Size of the last checkpoint. */
  readonly checkpointBytes: number | null;
  /** Why the run is stalled, or has failed; at most 1,024 characters. */
  readonly error: string | null;
}

export interface ProgressReporter {
  report(progress: PipelineProgress): void;
}

/** Longer texts are refused by the server. */
const ERROR_LENGTH_MAX = 1_024;

/** The progress of a run, based on its session. */
export function progressOf(
  pipeline: string,
  session: Session | undefined,
  nowMs: number,
  given: Pick<PipelineProgress, 'state' | 'lastCheckpointMs' | 'checkpointBytes' | 'error'>,
): PipelineProgress {
  const facts = { ...given, error: given.error?.slice(0, ERROR_LENGTH_MAX) ?? null };
  const nothing = { epoch: 0, generation: 0, recordsIn: 0, recordsOut: 0, lagRecords: 0 };
  if (session === undefined) {
    return { pipeline, slot: 0, ...facts, ...nothing, watermarkMs: null, heldBackBy: null };
  }
  const { engine, head, fence } = session;
  const { recordsIn, lagRecords, watermarkMs, heldBackBy } = engine.status(nowMs);
  return {
    pipeline,
    slot: 0,
    ...facts,
    epoch: head?.epoch ?? 0,
    generation: fence.generation,
    recordsIn,
    recordsOut: head?.recordsOut ?? 0,
    lagRecords,
    watermarkMs: Number.isFinite(watermarkMs) ? watermarkMs : null,
    heldBackBy,
  };
}

export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

const EVERY_MS = 1_000;

/** Limits the rate of reports. */
export class ProgressGate {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #reporter: ProgressReporter | undefined;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, logger: Logger, reporter: ProgressReporter | undefined) {
    this.#clock = clock;
    this.#logger = logger;
    this.#reporter = reporter;
  }

  offer(progress: PipelineProgress, isChange: boolean): void {
    if (this.#reporter === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    if (!isChange && nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + EVERY_MS;
    try {
      this.#reporter.report(progress);
    } catch (thrown) {
      this.#logger.warn('progress reporter failed', { reason: String(thrown) });
    }
  }
}

/** Where `terminalProgress` writes, such as `process.stderr`. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/**
 * A single line that is updated in place: state, rate, lag, last checkpoint, and why the run is stalled or has failed.
 * Writes nothing unless the output is a terminal.
 */
export function terminalProgress(
  output: ProgressOutput,
  clock: Pick<Clock, 'monotonicMs'> = createSystemClock(),
): ProgressReporter {
  let last: { readonly atMs: number; readonly progress: PipelineProgress } | undefined;
  return {
    report(progress) {
      if (output.isTTY !== true) return;
      const { pipeline, state, epoch, recordsIn, lagRecords, lastCheckpointMs, error } = progress;
      const nowMs = clock.monotonicMs();
      // Counts continue from the checkpoint, so the first report of a generation is only a baseline.
      const before = last?.progress.generation === progress.generation ? last : undefined;
      const seconds = before === undefined ? 0 : (nowMs - before.atMs) / 1_000;
      const records = recordsIn - (before?.progress.recordsIn ?? 0);
      const rate = seconds > 0 ? Math.round(records / seconds) : 0;
      last = { atMs: nowMs, progress };
      const isEnded = isOver(state);
      const took = lastCheckpointMs === null ? '' : ` (${Math.round(lastCheckpointMs)} ms)`;
      const parts = [
        `${pipeline}: ${state}`,
        `${recordsIn.toLocaleString('en')} records`,
        ...(isEnded ? [] : [`${rate.toLocaleString('en')} records/s`]),
        ...(lagRecords > 0 ? [`lag ${lagRecords.toLocaleString('en')}`] : []), // file sources do not report it
        `checkpoint ${epoch}${took}`,
        ...(error === null ? [] : [error]),
      ];
      const line = parts.join(', ').slice(0, (output.columns ?? 80) - 1);
      output.write(`\r\u001b[K${line}${isEnded ? '\n' : ''}`);
    },
  };
}
