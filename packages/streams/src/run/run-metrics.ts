// Updates the metrics of a run. Operators count per attempt, so the last values are remembered here and only the
// difference is added.
import type { Clock } from '@syncline/kernel';
import type { StreamsMetrics } from '../metrics-list.js';
import type { CheckpointInfo } from './checkpoint.js';
import { waitingBytesOf } from './checkpoint-pace.js';
import type { Session } from './recovery.js';

const COUNTERS = {
  late: 'syncline_streams_late_total',
  older: 'syncline_streams_older_ignored_total',
  conflicts: 'syncline_streams_version_conflicts_total',
  deadLetters: 'syncline_streams_dead_letters_total',
  releasedEarly: 'syncline_streams_released_early_total',
} as const;

export class RunMetrics {
  readonly #metrics: StreamsMetrics;
  readonly #clock: Clock;
  readonly #labels: { readonly pipeline: string };
  #recordsIn: number | undefined;
  #recordsOut: number | undefined;
  #lastMs: number;
  #counted: { readonly session: Session; readonly values: Map<string, number> } | undefined;

  constructor(metrics: StreamsMetrics, clock: Clock, pipeline: string) {
    this.#metrics = metrics;
    this.#clock = clock;
    this.#labels = { pipeline };
    this.#lastMs = clock.monotonicMs();
  }

  recovered(session: Session, tookMs: number): void {
    this.#metrics.observe('syncline_streams_recovery_seconds', tookMs / 1_000, this.#labels);
    this.#metrics.set('syncline_streams_generation', session.fence.generation, this.#labels);
    this.#recordsIn ??= session.engine.recordsIn;
    this.#recordsOut ??= session.head?.recordsOut ?? 0;
    this.#counted = { session, values: new Map() };
  }

  abandoned(code: string): void {
    const labels = { ...this.#labels, code };
    this.#metrics.add('syncline_streams_checkpoint_abandoned_total', 1, labels);
    this.#metrics.add('syncline_streams_restarts_total', 1, labels);
  }

  /** The epoch is durable, but its sinks have not committed it yet. */
  durable(epoch: number): void {
    this.#lastMs = this.#clock.monotonicMs();
    this.#metrics.set('syncline_streams_epoch', epoch, this.#labels);
    this.#metrics.set('syncline_streams_sink_uncommitted_epochs', 1, this.#labels);
  }

  /** Called after each checkpoint. */
  committed(session: Session, info: CheckpointInfo, publishMs: number): void {
    const metrics = this.#metrics;
    const labels = this.#labels;
    metrics.set('syncline_streams_sink_uncommitted_epochs', 0, labels);
    metrics.set('syncline_streams_checkpoint_bytes', info.bytes, labels);
    metrics.observe('syncline_streams_checkpoint_seconds', info.tookMs / 1_000, labels);
    metrics.observe('syncline_streams_checkpoint_pause_seconds', info.pauseMs / 1_000, labels);
    metrics.observe('syncline_streams_sink_commit_seconds', publishMs / 1_000, labels);
    const recordsOut = session.head?.recordsOut ?? 0;
    metrics.add('syncline_streams_records_out_total', recordsOut - (this.#recordsOut ?? 0), labels);
    metrics.add('syncline_streams_records_in_total', info.records - (this.#recordsIn ?? 0), labels);
    this.#recordsOut = recordsOut;
    this.#recordsIn = info.records;
    for (const [uid, { keys, bytes }] of session.states.sizes()) {
      metrics.set('syncline_streams_state_keys', keys, { ...labels, uid });
      metrics.set('syncline_streams_state_bytes', bytes, { ...labels, uid });
    }
    this.#count(session);
  }

  /** Called from time to time while the run waits. */
  watch(session: Session): void {
    const metrics = this.#metrics;
    const labels = this.#labels;
    const ageMs = this.#clock.monotonicMs() - this.#lastMs;
    metrics.set('syncline_streams_checkpoint_age_seconds', ageMs / 1_000, labels);
    metrics.set('syncline_streams_dirty_bytes', session.states.changedBytes, labels);
    metrics.set('syncline_streams_outbox_bytes', waitingBytesOf(session.sinks), labels);
    const { lagRecords, idlePartitions, watermarkMs, counters } = session.engine.status(
      this.#clock.monotonicMs(),
    );
    for (const [uid, { held }] of counters) {
      if (held !== undefined)
        metrics.set('syncline_streams_reorder_items', held, { ...labels, uid });
    }
    metrics.set('syncline_streams_source_lag_records', lagRecords, labels);
    metrics.set('syncline_streams_idle_partitions', idlePartitions, labels);
    if (!Number.isFinite(watermarkMs)) return;
    const behindMs = this.#clock.nowMs() - watermarkMs;
    metrics.set('syncline_streams_watermark_lag_seconds', behindMs / 1_000, labels);
  }

  #count(session: Session): void {
    const counted = this.#counted;
    if (counted?.session !== session) return;
    for (const [uid, counters] of session.engine.status(this.#clock.monotonicMs()).counters) {
      for (const [name, metric] of Object.entries(COUNTERS)) {
        const value = counters[name as keyof typeof COUNTERS];
        const before = counted.values.get(`${uid} ${name}`) ?? 0;
        if (value === before) continue;
        counted.values.set(`${uid} ${name}`, value);
        this.#metrics.add(metric, value - before, { ...this.#labels, uid });
      }
    }
  }
}
