// One checkpoint: from the barrier to the commit point, one synced batch, and on to the sinks.
//
//   barrier   positions, captured states and the sinks' transactions, in one turn between two batches
//   encode    in slices, while processing goes on and the sinks prepare
//   commit    fence and epoch are checked, then ONE batch is written: before it nothing of the epoch has
//             happened, after it all of it will
//   sinks     commit, repeated until it succeeds; then the sources are acknowledged
//
// X37  One atomic batch per epoch, without gaps; no sink commits and no source is acknowledged before the
//      epoch is durable.
import {
  backoffMs,
  type Clock,
  type Random,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import type { Sink } from '../ends/sink.js';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import {
  type Head,
  type HistoryLine,
  type PartitionMark,
  type SinkMarkInHead,
  STORE_FORMAT,
  seal,
  storeKeys,
} from '../store/layout.js';
import { OutboxStore } from '../store/outbox.js';
import { checkFenceOf, type Session } from './recovery.js';
import { type CutTransaction, prepareCut } from './sink-writer.js';
import { RETRY } from './source-reader.js';

export interface CheckpointDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  /** A sink cannot be reached for now; undefined when it can again. */
  readonly onStall: (sink: string, error: SynclineError | undefined) => void;
}

/** What `run.checkpoints()` yields. */
export interface CheckpointInfo {
  readonly epoch: number;
  /** Records that the pipeline has read so far, all runs together. */
  readonly records: number;
  /** From the barrier until the epoch was durable. */
  readonly tookMs: number;
  /** For how long processing stood still. */
  readonly pauseMs: number;
  readonly bytes: number;
}

export class Checkpoint {
  readonly epoch: number;
  readonly isFinal: boolean;
  readonly #deps: CheckpointDeps;
  readonly #session: Session;
  readonly #cuts: readonly CutTransaction[];
  readonly #startedMs: number;
  readonly #pauseMs: number;
  readonly #facts: Omit<Head, 'sinks' | 'tables'>;
  /** The batch is on its way: from here on nobody can take the epoch back. */
  isIssued = false;
  isDurable = false;

  /** The barrier. Nothing is awaited, so it falls between two batches. */
  constructor(deps: CheckpointDeps, session: Session, isFinal: boolean) {
    const { topology, readers, writers, states, head, fence } = session;
    this.#deps = deps;
    this.#session = session;
    this.#startedMs = deps.clock.monotonicMs();
    this.epoch = (head?.epoch ?? 0) + 1;
    this.isFinal = isFinal;
    const partitions: Record<string, Record<string, PartitionMark>> = {};
    for (const reader of readers.all) {
      const marks = partitions[reader.source.uid] ?? {};
      marks[reader.partition] = reader.mark;
      partitions[reader.source.uid] = marks;
    }
    const operators = topology.saved();
    states.capture();
    this.#cuts = [...writers.values()].map((writer) => writer.cut());
    const outputs = this.#cuts.reduce((sum, { count }) => sum + count, 0);
    this.#facts = {
      format: STORE_FORMAT,
      epoch: this.epoch,
      generation: fence.generation,
      atMs: deps.clock.nowMs(),
      partitions,
      turn: readers.turn,
      clockMs: topology.clockMs,
      isFinished: isFinal,
      recordsIn: topology.recordsIn,
      recordsOut: (head?.recordsOut ?? 0) + outputs,
      operators,
    };
    this.#pauseMs = deps.clock.monotonicMs() - this.#startedMs;
  }

  /** Resolves when the epoch is durable. If it throws before `isIssued`, nothing has happened. */
  async store(): Promise<CheckpointInfo> {
    const { storage, clock } = this.#deps;
    const session = this.#session;
    const { states, writers, fence } = session;
    const batch = new StorageBatch();
    const [tables, handles] = await allOrThrow([
      states.encode(batch, this.epoch),
      Promise.all(this.#cuts.map((cut) => prepareCut(cut))),
      ...(this.isFinal ? [] : [...writers.values()].map((w) => w.begin(this.epoch + 1, fence))),
    ] as const);
    const sinks: Record<string, SinkMarkInHead> = {};
    for (const [index, { sink, txn }] of this.#cuts.entries()) {
      const handle = handles[index] ?? null;
      checkHandle(sink, handle);
      const before = session.head?.sinks[sink.uid];
      const committedEpoch =
        before === undefined
          ? 0
          : before.handle === null
            ? before.committedEpoch
            : (session.head?.epoch ?? 0);
      sinks[sink.uid] = { handle, committedEpoch };
      if (!(sink instanceof OutboxStore)) continue;
      if (handle !== null) sink.fill(batch, txn?.value as never);
      sink.collect(batch, this.epoch);
    }
    const head: Head = { ...this.#facts, sinks, tables };
    batch.put(storeKeys.head, seal(head));
    this.#addHistory(batch);
    checkFenceOf(storage, session);
    const bytes = batch.bytes;
    this.isIssued = true;
    await storage.write(batch, { durability: 'synced' });
    this.isDurable = true;
    session.head = head;
    await states.settle();
    const tookMs = clock.monotonicMs() - this.#startedMs;
    return { epoch: this.epoch, records: head.recordsIn, tookMs, pauseMs: this.#pauseMs, bytes };
  }

  #addHistory(batch: StorageBatch): void {
    const { atMs, generation, recordsIn: records } = this.#facts;
    const tookMs = this.#deps.clock.monotonicMs() - this.#startedMs;
    const { epoch } = this;
    const line: HistoryLine = { epoch, generation, atMs, records, bytes: batch.bytes, tookMs };
    batch.put(storeKeys.history(epoch), seal(line));
    const old = epoch - streamsLimits.historyEpochsMax.value;
    if (old > 0) batch.delete(storeKeys.history(old));
  }

  /** Commits the sinks, then acknowledges the sources. Throws what waiting does not mend, or `aborted`. */
  async publish(signal: AbortSignal): Promise<void> {
    const { head, readers } = this.#session;
    await allOrThrow(
      this.#cuts.map(async ({ sink }) => {
        const handle = head?.sinks[sink.uid]?.handle ?? null;
        if (handle !== null) await this.#commit(sink, handle, signal);
      }),
    );
    const positions = new Map<unknown, Map<string, Json>>();
    for (const { source, partition } of readers.all) {
      const position = head?.partitions[source.uid]?.[partition]?.position ?? null;
      if (position === null || source.ack === undefined) continue;
      const known = positions.get(source) ?? new Map<string, Json>();
      positions.set(source, known.set(partition, position));
    }
    for (const source of new Set(readers.all.map((reader) => reader.source))) {
      const known = positions.get(source);
      if (known !== undefined) await source.ack?.(known).catch(ignoreRetryable);
    }
  }

  async #commit(sink: Sink<unknown>, handle: Json, signal: AbortSignal): Promise<void> {
    const { clock, random, onStall } = this.#deps;
    for (let attempt = 0; ; attempt += 1) {
      try {
        await sink.commit(handle);
        if (attempt > 0) onStall(sink.uid, undefined);
        return;
      } catch (thrown) {
        if (!(thrown instanceof SynclineError) || !thrown.retryable) throw thrown;
        onStall(sink.uid, thrown);
        await clock.sleep(backoffMs(attempt, RETRY, random), signal);
      }
    }
  }

  /** Gives up the transactions of an epoch that will be tried again. */
  async abandon(): Promise<void> {
    for (const { sink, txn } of this.#cuts) {
      if (txn !== undefined) await sink.abort(txn.value).catch(() => undefined);
    }
  }
}

/** A failed acknowledgement is repeated with the next epoch. */
function ignoreRetryable(thrown: unknown): void {
  if (!(thrown instanceof SynclineError)) throw thrown;
}

function checkHandle(sink: Sink<unknown>, handle: Json): void {
  const bytes = JSON.stringify(handle).length;
  const { value: bytesMax } = streamsLimits.handleBytesMax;
  if (bytes <= bytesMax) return;
  throw new SynclineError(
    'limit-exceeded',
    `sink "${sink.uid}" returned a handle of ${bytes} bytes; the limit is ${bytesMax}`,
    { details: { limit: 'handleBytesMax', uid: sink.uid } },
  );
}

/** Waits for all, then throws the first error: nothing goes on behind the caller's back. */
async function allOrThrow<T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [Index in keyof T]: Awaited<T[Index]> }> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return results.map((result) => (result as PromiseFulfilledResult<unknown>).value) as never;
}
