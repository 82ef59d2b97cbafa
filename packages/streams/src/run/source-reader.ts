// Reads ahead from the partitions of all sources, and decides which one is next.
//
// Partitions take turns in the order of their ids, one batch each. `strict` waits for the next partition unless it is
// idle or has ended, so that the interleaving depends only on the input; `ready` takes any batch that is available.
// Reads from a source that cannot be reached are retried with backoff.
import { backoffMs, type Clock, type Random, SynclineError } from '@syncline/kernel';
import { partitionName } from '../ends/partition-name.js';
import type { Json, Source, SourceBatch } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { SourceNode } from '../pipeline/graph.js';
import { compareText } from '../state/key.js';
import type { PartitionMark } from '../store/layout.js';

const CLOSE_PATIENCE_MS = 1_000;
export const RETRY = { initialMs: 100, maxMs: 30_000, jitter: 'half' } as const;

/**
 * Whether returning to the last durable epoch may help. Recovery resolves unknown outcomes; a failed sync is not
 * retryable. Workers that end repeatedly without a checkpoint in between are not restarted forever.
 */
export function isWorthRetrying(thrown: unknown, retries: number): thrown is SynclineError {
  if (!(thrown instanceof SynclineError) || !thrown.retryable) return false;
  const isLost = thrown.details['worker'] !== undefined;
  return !isLost || retries < streamsLimits.workerRestartsMax.value;
}

/** Whether an aborted run ends normally despite the error. It would have been retried; the next start does so. */
export function isHarmlessToAbort(thrown: unknown): boolean {
  return thrown instanceof SynclineError && (thrown.retryable || thrown.code === 'aborted');
}

export interface ReaderDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Called when something has changed: a batch arrived, or a read failed. */
  readonly wake: () => void;
  readonly onRetry: (uid: string, error: SynclineError) => void;
}

/** Reads one partition of one source, and tracks its progress. */
export class PartitionReader {
  readonly source: Source<unknown, Json>;
  readonly partition: string;
  /** `source/partition`. */
  readonly origin: string;
  position: Json | null;
  count: number;
  incarnation: number;
  highestMs: number;
  watermarkMs: number;
  isIdle: boolean;
  isEnded: boolean;
  lagRecords = 0;
  /** When the last batch was taken, on the monotonic clock. */
  lastMs: number;
  error: Error | undefined;
  readonly #deps: ReaderDeps;
  readonly #batches: SourceBatch<unknown, Json>[] = [];
  readonly #stop = new AbortController();
  #room: (() => void) | undefined;
  #done: Promise<void> = Promise.resolve();

  constructor(
    source: Source<unknown, Json>,
    partition: string,
    mark: PartitionMark | undefined,
    deps: ReaderDeps,
  ) {
    this.source = source;
    this.partition = partition;
    this.origin = `${source.uid}/${partition}`;
    this.#deps = deps;
    this.position = mark?.position ?? null;
    this.count = mark?.count ?? 0;
    this.incarnation = mark?.incarnation ?? 0;
    this.highestMs = mark?.highestMs ?? Number.NEGATIVE_INFINITY;
    this.watermarkMs = mark?.watermarkMs ?? Number.NEGATIVE_INFINITY;
    this.isIdle = mark?.isIdle ?? false;
    this.isEnded = mark?.isEnded ?? false;
    if (this.isEnded) this.watermarkMs = Number.POSITIVE_INFINITY;
    this.lastMs = deps.clock.monotonicMs();
  }

  get mark(): PartitionMark {
    const finite = (ms: number) => (Number.isFinite(ms) ? ms : null);
    return {
      position: this.position,
      count: this.count,
      incarnation: this.incarnation,
      highestMs: finite(this.highestMs),
      watermarkMs: finite(this.watermarkMs),
      isIdle: this.isIdle,
      isEnded: this.isEnded,
    };
  }

  start(): void {
    if (!this.isEnded) this.#done = this.#read();
  }

  get next(): SourceBatch<unknown, Json> | undefined {
    return this.#batches[0];
  }

  take(): SourceBatch<unknown, Json> | undefined {
    const batch = this.#batches.shift();
    this.#room?.();
    this.#room = undefined;
    return batch;
  }

  /** Does not wait long for a source that ignores its signal. Anything it still yields is discarded. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#room?.();
    const patience = new AbortController();
    const left = this.#deps.clock.sleep(CLOSE_PATIENCE_MS, patience.signal).catch(() => undefined);
    await Promise.race([this.#done, left]);
    patience.abort();
  }

  async #untilRoom(signal: AbortSignal): Promise<void> {
    const { value: batchesMax } = streamsLimits.prefetchBatchesMax;
    while (this.#batches.length >= batchesMax && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#room = resolve;
      });
    }
  }

  async #read(): Promise<void> {
    const { signal } = this.#stop;
    let from = this.position;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        for await (const batch of this.source.read(this.partition, from, signal)) {
          attempt = 0;
          from = batch.position;
          this.#batches.push(batch);
          this.#deps.wake();
          if (batch.end === true) return;
          await this.#untilRoom(signal);
          if (signal.aborted) return;
        }
        if (signal.aborted) return;
        throw new SynclineError(
          'unavailable',
          `reading stopped before the end of ${partitionName(this.source.uid, this.partition)}`,
        );
      } catch (thrown) {
        if (signal.aborted) return;
        const error = thrown instanceof SynclineError ? thrown : undefined;
        if (error?.retryable !== true) {
          this.error = thrown instanceof Error ? thrown : SynclineError.from(thrown);
          this.#deps.wake();
          return;
        }
        this.#deps.onRetry(this.source.uid, error);
        const waitMs = backoffMs(attempt, RETRY, this.#deps.random);
        await this.#deps.clock.sleep(waitMs, signal).catch(() => undefined);
      }
    }
  }
}

export class SourceReaders {
  readonly order: 'strict' | 'ready';
  readonly #readers: PartitionReader[] = [];
  /** Origin of the partition to read next. */
  turn: string | null;

  constructor(order: 'strict' | 'ready', turn: string | null) {
    this.order = order;
    this.turn = turn;
  }

  get all(): readonly PartitionReader[] {
    return this.#readers;
  }

  get isEnded(): boolean {
    return this.#readers.every((reader) => reader.isEnded);
  }

  add(reader: PartitionReader): void {
    const { value: partitionsMax } = streamsLimits.partitionsMax;
    if (this.#readers.length >= partitionsMax) {
      throw new SynclineError(
        'limit-exceeded',
        `the sources have more than ${partitionsMax} partitions`,
        { details: { limit: 'partitionsMax' } },
      );
    }
    this.#readers.push(reader);
    this.#readers.sort((left, right) => compareText(left.origin, right.origin));
  }

  /**
   * The partition whose batch is next, or undefined if none is available yet. `wanted` are the partitions that may be
   * read. Throws the error of a failed read.
   */
  next(wanted: ReadonlySet<string> | undefined): PartitionReader | undefined {
    const readers = this.#readers;
    const first = Math.max(
      0,
      readers.findIndex(({ origin }) => origin === this.turn),
    );
    for (let step = 0; step < readers.length; step += 1) {
      const reader = readers[(first + step) % readers.length] as PartitionReader;
      if (reader.isEnded || (wanted !== undefined && !wanted.has(reader.origin))) continue;
      if (reader.next !== undefined) {
        this.turn = readers[(first + step + 1) % readers.length]?.origin ?? null;
        return reader;
      }
      if (reader.error !== undefined) throw reader.error;
      if (this.order === 'strict' && !reader.isIdle) return undefined;
    }
    return undefined;
  }

  /** Marks partitions as idle that have delivered nothing for `idleAfterMs`. Returns true if there are any. */
  declareIdle(sources: readonly SourceNode[], nowMs: number): boolean {
    let hasChanged = false;
    for (const { source, options } of sources) {
      const { idleAfterMs = Number.POSITIVE_INFINITY } = options;
      if (idleAfterMs === Number.POSITIVE_INFINITY) continue;
      for (const reader of this.#readers) {
        if (reader.source !== source || reader.isIdle || reader.isEnded) continue;
        if (reader.next !== undefined || nowMs - reader.lastMs < idleAfterMs) continue;
        reader.isIdle = true;
        hasChanged = true;
      }
    }
    return hasChanged;
  }

  async close(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.close()));
  }
}
