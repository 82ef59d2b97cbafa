// One checkpoint: from the barrier to the commit point, which is one synced batch, and on to the sinks.
//
//   barrier   captures positions, states and the sinks' transactions, in one turn between two batches
//   encode    in slices, while processing continues and the sinks prepare
//   commit    fence and epoch are checked, then ONE batch is written: before it, nothing of the epoch has taken
//             effect; after it, everything will
//   sinks     commit, repeated until it succeeds; then the sources are acknowledged
//
// X37  One atomic batch per epoch, without gaps; no sink commits and no source is acknowledged before the
//      epoch is durable.
import {
  backoffMs,
  type Clock,
  type Random,
  type Storage,
  type StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import type { Sink } from '../ends/sink.js';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { Graph } from '../pipeline/graph.js';
import {
  type Head,
  type HistoryLine,
  handlesOf,
  readFrame,
  type SinkMarkInHead,
  STORE_FORMAT,
  seal,
  storeKeys,
} from '../store/layout.js';
import { OutboxStore } from '../store/outbox.js';
import { acknowledge, allOrThrow, type Cut } from './engine.js';
import type { Session } from './recovery.js';
import { RETRY } from './source-reader.js';

export interface CheckpointDeps {
  readonly graph: Graph;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  /** Called with an error while a sink cannot be reached, and with undefined when it can again. */
  readonly onStall: (sink: string, error: SynclineError | undefined) => void;
}

/** A checkpoint as reported by `run.checkpoints()`. */
export interface CheckpointInfo {
  readonly epoch: number;
  /** Records that the pipeline has read so far, over all runs. */
  readonly records: number;
  /** Time from the barrier until the epoch was durable. */
  readonly tookMs: number;
  /** How long processing was paused. */
  readonly pauseMs: number;
  /** Duration of the synced write that made it durable. Part of `tookMs`. */
  readonly commitMs: number;
  readonly bytes: number;
}

export class Checkpoint {
  readonly epoch: number;
  readonly isFinal: boolean;
  readonly #deps: CheckpointDeps;
  readonly #session: Session;
  readonly #startedMs: number;
  readonly #cutting: Promise<Cut>;
  /** The batch is being written. From now on the epoch cannot be abandoned. */
  isIssued = false;
  isDurable = false;
  #giveUp: (error: SynclineError) => void = () => {};
  readonly #givenUp = new Promise<never>((_, reject) => {
    this.#giveUp = reject;
  });

  /** Sets the barrier. Without workers it takes effect immediately, between two batches. */
  constructor(deps: CheckpointDeps, session: Session, isFinal: boolean) {
    this.#deps = deps;
    this.#session = session;
    this.#startedMs = deps.clock.monotonicMs();
    this.epoch = (session.head?.epoch ?? 0) + 1;
    this.isFinal = isFinal;
    this.#cutting = session.engine.cut(this.epoch, isFinal);
    this.#givenUp.catch(() => undefined);
  }

  /** Called when the run is aborted. It has no effect once the batch is being written. */
  giveUp(error: SynclineError): void {
    if (!this.isIssued) this.#giveUp(error);
  }

  /** Called when the checkpoint takes too long. */
  timeOut(): void {
    const tookMs = this.#deps.clock.monotonicMs() - this.#startedMs;
    this.giveUp(
      new SynclineError(
        'timeout',
        `checkpoint ${this.epoch} was not ready to commit after ${Math.round(tookMs)} ms: ` +
          'a sink could not make its output durable, or there is too much state to encode',
        { details: { epoch: this.epoch } },
      ),
    );
  }

  /** Resolves when the epoch is durable. If it throws before `isIssued`, nothing was written. */
  async store(): Promise<CheckpointInfo> {
    const { storage, clock } = this.#deps;
    const session = this.#session;
    const { states, fence, batch } = session;
    const { epoch } = this;
    const cut = await Promise.race([this.#cutting, this.#givenUp]);
    const atMs = clock.nowMs();
    batch.clear();
    const ready = allOrThrow([states.encode(batch, epoch), cut.prepare(batch)] as const);
    const [tables, handles] = await Promise.race([ready, this.#givenUp]);
    const { partitions, turn, clockMs, recordsIn, operators, watermarks, pauseMs } = cut;
    const head: Head = {
      format: STORE_FORMAT,
      epoch,
      generation: fence.generation,
      atMs,
      partitions,
      turn,
      clockMs,
      isFinished: this.isFinal,
      recordsIn,
      recordsOut: (session.head?.recordsOut ?? 0) + cut.outputs,
      sinks: this.#sinkMarks(handles, batch),
      operators,
      watermarks,
      tables,
    };
    batch.put(storeKeys.head, seal(head));
    this.#addHistory(batch, head);
    checkFenceOf(storage, session);
    const bytes = batch.bytes;
    const issuedMs = clock.monotonicMs();
    this.isIssued = true;
    await storage.write(batch, { durability: 'synced' });
    this.isDurable = true;
    const commitMs = clock.monotonicMs() - issuedMs;
    session.head = head;
    await states.settle();
    const tookMs = clock.monotonicMs() - this.#startedMs;
    return { epoch, records: recordsIn, tookMs, pauseMs, commitMs, bytes };
  }

  /** Adds the removal of old output to the batch. */
  #sinkMarks(
    handles: Readonly<Record<string, readonly Json[]>>,
    batch: StorageBatch,
  ): Head['sinks'] {
    const { head, sinks } = this.#session;
    const marks: Record<string, SinkMarkInHead> = {};
    for (const sink of sinks.values()) {
      const { uid } = sink;
      const [handle = null, ...more] = handles[uid] ?? [];
      for (const each of [handle, ...more]) checkHandle(uid, each);
      const before = head?.sinks[uid];
      const isCommitted = before !== undefined && handlesOf(before).length > 0;
      const committedEpoch = isCommitted ? (head?.epoch ?? 0) : (before?.committedEpoch ?? 0);
      const collected = sink instanceof OutboxStore ? sink.collect(batch, this.epoch) : 0;
      const droppedEpoch = Math.max(before?.droppedEpoch ?? 0, collected);
      marks[uid] = {
        handle,
        ...(more.length > 0 && { more }),
        committedEpoch,
        ...(droppedEpoch > 0 && { droppedEpoch }),
      };
    }
    return marks;
  }

  #addHistory(batch: StorageBatch, head: Head): void {
    const { atMs, generation, recordsIn: records } = head;
    const tookMs = this.#deps.clock.monotonicMs() - this.#startedMs;
    const { epoch } = this;
    const line: HistoryLine = { epoch, generation, atMs, records, bytes: batch.bytes, tookMs };
    batch.put(storeKeys.history(epoch), seal(line));
    const old = epoch - streamsLimits.historyEpochsMax.value;
    if (old > 0) batch.delete(storeKeys.history(old));
  }

  /** Commits the sinks, then acknowledges the sources. Throws errors that are not retryable, and `aborted`. */
  async publish(signal: AbortSignal): Promise<void> {
    const { head, sinks } = this.#session;
    await allOrThrow(
      [...sinks.values()].map(async (sink) => {
        const mark = head?.sinks[sink.uid];
        for (const handle of mark === undefined ? [] : handlesOf(mark)) {
          await this.#commit(sink, handle, signal);
        }
      }),
    );
    for (const { source } of this.#deps.graph.sources) {
      const positions = new Map<string, Json>();
      for (const [partition, { position }] of Object.entries(head?.partitions[source.uid] ?? {})) {
        if (position !== null) positions.set(partition, position);
      }
      await acknowledge(source, positions);
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

  /**
   * Discards the output of an epoch that will be retried. Does not wait for a sink that has already timed out; recovery
   * removes what it leaves behind.
   */
  async abandon(reason: unknown): Promise<void> {
    const abandoning = this.#cutting.then((cut) => cut.abandon()).catch(() => undefined);
    if (!(reason instanceof SynclineError) || reason.code !== 'timeout') await abandoning;
  }
}

/** Checks, at the commit point, that this process still owns the store and that nothing else was committed. */
function checkFenceOf(storage: Storage, { fence, head }: Session): void {
  const found = readFrame(storage);
  const { generation } = found;
  if (generation?.generation !== fence.generation || generation.token !== fence.token) {
    throw new SynclineError(
      'fenced',
      `generation ${generation?.generation} has taken over the checkpoint store of generation ${fence.generation}`,
      { details: { generation: fence.generation, found: generation?.generation } },
    );
  }
  if ((found.head?.epoch ?? 0) !== (head?.epoch ?? 0)) {
    throw new SynclineError(
      'corrupt',
      `the checkpoint store is at epoch ${found.head?.epoch ?? 0}, but this run committed ${head?.epoch ?? 0} last`,
      { details: { found: found.head?.epoch ?? 0, expected: head?.epoch ?? 0 } },
    );
  }
}

function checkHandle(uid: string, handle: Json): void {
  const bytes = JSON.stringify(handle).length;
  const { value: bytesMax } = streamsLimits.handleBytesMax;
  if (bytes <= bytesMax) return;
  throw new SynclineError(
    'limit-exceeded',
    `sink "${uid}" returned a handle of ${bytes} bytes; the limit is ${bytesMax}`,
    { details: { limit: 'handleBytesMax', uid } },
  );
}
