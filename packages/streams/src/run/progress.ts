// How a run tells others where it stands: at each change of state, and at most once a second. A reporter
// cannot block or fail a run.
import type { Clock, Logger } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { Session } from './recovery.js';
import type { RunState } from './run-state.js';

export interface PipelineProgress {
  readonly pipeline: string;
  /** Which worker; 0 if there is one. */
  readonly slot: number;
  readonly state: RunState;
  readonly epoch: number;
  readonly generation: number;
  readonly recordsIn: number;
  /** Outputs in committed epochs. */
  readonly recordsOut: number;
  /** Records that the sources know to be waiting. */
  readonly lagRecords: number;
  readonly watermarkMs: number | null;
  /** A partition that is not idle and has kept event time from advancing for long. */
  readonly heldBackBy: string | null;
  /** How long the last checkpoint took. */
  readonly lastCheckpointMs: number | null;
  /** Why the run is stalled. */
  readonly error: string | null;
}

export interface ProgressReporter {
  report(progress: PipelineProgress): void;
}

/** Where a run stands, from what its session knows. */
export function progressOf(
  pipeline: string,
  session: Session | undefined,
  nowMs: number,
  facts: Pick<PipelineProgress, 'state' | 'lastCheckpointMs' | 'error'>,
): PipelineProgress {
  const nothing = { epoch: 0, generation: 0, recordsIn: 0, recordsOut: 0, lagRecords: 0 };
  if (session === undefined) {
    return { pipeline, slot: 0, ...facts, ...nothing, watermarkMs: null, heldBackBy: null };
  }
  const { readers, topology, head, fence } = session;
  const { watermarkMs } = topology;
  const holding = readers.all.filter((reader) => !reader.isIdle && !reader.isEnded);
  const lowestMs = Math.min(...holding.map((reader) => reader.watermarkMs));
  const { value: warnMs } = streamsLimits.stallWarnMs;
  const stale = holding.find(
    (reader) => reader.watermarkMs === lowestMs && nowMs - reader.lastMs > warnMs,
  );
  return {
    pipeline,
    slot: 0,
    ...facts,
    epoch: head?.epoch ?? 0,
    generation: fence.generation,
    recordsIn: topology.recordsIn,
    recordsOut: head?.recordsOut ?? 0,
    lagRecords: readers.all.reduce((sum, reader) => sum + reader.lagRecords, 0),
    watermarkMs: Number.isFinite(watermarkMs) ? watermarkMs : null,
    heldBackBy: stale?.origin ?? null,
  };
}

const EVERY_MS = 1_000;

/** Lets reports through at the pace that reporters are promised. */
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

/** Writes one line that replaces itself, for a terminal: rate, lag, last checkpoint. */
export function terminalProgress(
  clock: Pick<Clock, 'monotonicMs'>,
  write: (text: string) => void,
): ProgressReporter {
  let last: { readonly atMs: number; readonly records: number } | undefined;
  return {
    report({ pipeline, state, epoch, recordsIn, lagRecords, lastCheckpointMs, error }) {
      const nowMs = clock.monotonicMs();
      const seconds = last === undefined ? 0 : (nowMs - last.atMs) / 1_000;
      const rate = seconds > 0 ? Math.round((recordsIn - (last?.records ?? 0)) / seconds) : 0;
      last = { atMs: nowMs, records: recordsIn };
      const parts = [
        `${pipeline}: ${state}`,
        `${rate.toLocaleString('en')} records/s`,
        `lag ${lagRecords.toLocaleString('en')}`,
        `epoch ${epoch}${lastCheckpointMs === null ? '' : ` in ${Math.round(lastCheckpointMs)} ms`}`,
        ...(error === null ? [] : [error]),
      ];
      write(`\r\u001b[K${parts.join(', ')}`);
    },
  };
}
