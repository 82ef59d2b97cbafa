// A run: the loop that reads, processes and checkpoints, and what a user can do with it.
//
// One loop owns everything. Sources read ahead and checkpoints are written beside it; both only wake it.
// When an attempt at an epoch fails and waiting may help, the loop throws all state away and recovers from
// the last durable epoch inside the process: there is one way back, the same as after a crash.
import {
  assert,
  BoundedQueue,
  backoffMs,
  type Logger,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { nextTurn } from '../state/cells.js';
import { Checkpoint, type CheckpointInfo } from './checkpoint.js';
import type { PipelineProgress, ProgressGate } from './progress.js';
import { type RecoveryDeps, recover, type Session } from './recovery.js';
import type { RunMetrics } from './run-metrics.js';
import { isOver, nextState, type RunEvent, type RunState } from './run-state.js';
import { PartitionReader, RETRY } from './source-reader.js';
import { Wake } from './wake.js';

export interface RunSettings {
  readonly everyMs: number;
  readonly everyRecords: number;
  readonly minPauseMs: number;
  readonly stopGraceMs: number;
  readonly checkpointTimeoutMs: number;
  readonly dirtyBytesMax: number;
  readonly memoryStateBytesMax: number;
}

export interface RunDeps extends RecoveryDeps {
  readonly settings: RunSettings;
  readonly progress: ProgressGate;
  /** Writes the status file; never fails. */
  readonly report: (run: PipelineRun) => void;
  readonly close: () => Promise<void>;
  /** Writes a savepoint of the last epoch; automatic ones have no name. */
  readonly save: (name: string | undefined, epoch: number) => Promise<string>;
  readonly logger: Logger;
  readonly metrics: RunMetrics;
}

/** Batches after which others get a turn, however fast they were. */
const BATCHES_PER_TURN = 32;
const TURN_MS = 5;
const PARTITIONS_EVERY_MS = 30_000;

export class PipelineRun implements AsyncDisposable {
  readonly #deps: RunDeps;
  readonly #wake = new Wake();
  readonly #abort = new AbortController();
  readonly #listeners = new Set<BoundedQueue<CheckpointInfo>>();
  #state: RunState = 'starting';
  #session: Session | undefined;
  #inFlight: { readonly checkpoint: Checkpoint; readonly done: Promise<void> } | undefined;
  #failure: unknown;
  #lastCheckpoint: CheckpointInfo | undefined;
  #nextCheckpointMs = 0;
  #recordsAtCheckpoint = 0;
  #requests: { resolve(info: CheckpointInfo | undefined): void; reject(error: unknown): void }[] =
    [];
  #retries = 0;
  #timer: Timer | undefined;
  #finished: Promise<void> = Promise.resolve();
  #stalledBy: string | undefined;
  #partitionsAtMs = 0;

  constructor(deps: RunDeps) {
    this.#deps = deps;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Resolves when the run has ended in order, and rejects with what it failed on. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  get session(): Session | undefined {
    return this.#session;
  }

  /** Verifies, fences and loads; then processing begins. Throws what stands in the way. */
  async begin(signal: AbortSignal | undefined): Promise<void> {
    signal?.addEventListener('abort', () => this.#abortNow(), { once: true });
    if (signal?.aborted === true) this.#abortNow();
    this.#enter('opened');
    try {
      await this.#recover();
    } catch (thrown) {
      this.#enter('failed');
      await this.#session?.readers.close();
      throw thrown;
    }
    this.#finished = this.#main();
    this.#finished.catch(() => undefined); // whoever asks gets it
  }

  async #recover(): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const readerDeps = {
      clock,
      random,
      wake: this.#wake.call,
      onRetry: (uid: string, error: SynclineError) =>
        logger.warn('source unavailable', { source: uid, code: error.code }),
    };
    const startedMs = clock.monotonicMs();
    const session = await recover(this.#deps, this.#session?.fence, readerDeps, this.#abort.signal);
    this.#session = session;
    this.#deps.metrics.recovered(session, clock.monotonicMs() - startedMs);
    this.#nextCheckpointMs = clock.monotonicMs() + this.#deps.settings.everyMs;
    this.#recordsAtCheckpoint = session.topology.recordsIn;
    if (session.head?.isFinished === true) return;
    if (session.isUpgraded) await this.#deps.save(undefined, session.head?.epoch ?? 0);
    const epoch = (session.head?.epoch ?? 0) + 1;
    for (const writer of session.writers.values()) await writer.begin(epoch, session.fence);
    for (const reader of session.readers.all) reader.start();
    this.#partitionsAtMs = clock.monotonicMs();
  }

  async #main(): Promise<void> {
    let isFinished = this.#session?.head?.isFinished === true;
    if (isFinished) this.#deps.logger.info('pipeline finished earlier', {});
    else this.#enter('recovered');
    try {
      while (!isFinished) {
        try {
          isFinished = await this.#work();
          break;
        } catch (thrown) {
          await this.#abandon(thrown);
        }
      }
    } catch (thrown) {
      await this.#end('failed', thrown);
      throw thrown;
    }
    await this.#end(isFinished ? 'ended' : 'closed', undefined);
  }

  /** Processes until the end (true) or a stop (false). */
  async #work(): Promise<boolean> {
    const { clock, settings } = this.#deps;
    for (;;) {
      const session = this.#current();
      const { topology, readers, writers } = session;
      let turnStartMs = clock.monotonicMs();
      for (let batches = 0; ; batches += 1) {
        if (this.#failure !== undefined) throw this.#takeFailure();
        if (this.#abort.signal.aborted) return await this.#stopNow();
        if (this.#state === 'stopping') return await this.#stopInOrder();
        if (this.#isCheckpointDue()) this.#startCheckpoint(false);
        if (this.#isFull()) break;
        this.#declareIdle();
        topology.tick(clock.nowMs());
        const reader = readers.next(topology.wanted());
        if (reader === undefined) break;
        const batch = reader.take();
        assert(batch !== undefined, 'a reader that is chosen has a batch');
        topology.take(reader, batch, clock.monotonicMs());
        for (const writer of writers.values()) if (writer.isFull) await writer.write();
        const nowMs = clock.monotonicMs();
        if (batches >= BATCHES_PER_TURN || nowMs - turnStartMs > TURN_MS) {
          await nextTurn(clock);
          turnStartMs = clock.monotonicMs();
          batches = 0;
        }
      }
      for (const writer of writers.values()) await writer.write();
      if (readers.isEnded && this.#inFlight === undefined) {
        await this.#lastCheckpointOf(true);
        return true;
      }
      await this.#lookForPartitions();
      this.#deps.progress.offer(this.progress(), false);
      this.#deps.metrics.watch(session);
      this.#setTimer(settings);
      await this.#wake.wait();
    }
  }

  /** Wakes the loop for the next checkpoint, clock timer or idle partition. */
  #setTimer({ everyMs }: RunSettings): void {
    const { clock } = this.#deps;
    const { topology } = this.#current();
    this.#timer?.cancel();
    const tickMs = topology.nextTickMs - clock.nowMs();
    const dueMs = this.#nextCheckpointMs - clock.monotonicMs();
    const waitMs = Math.min(Math.max(dueMs, 1), everyMs, Math.max(tickMs, 1), 1_000);
    this.#timer = clock.setTimer(waitMs, this.#wake.call);
  }

  #declareIdle(): void {
    const { clock, graph } = this.#deps;
    const { readers, topology } = this.#current();
    for (const { source, options } of graph.sources) {
      const { idleAfterMs } = options;
      if (idleAfterMs === undefined) continue;
      for (const reader of readers.all) {
        if (reader.source !== source || reader.isIdle || reader.isEnded) continue;
        if (reader.next !== undefined || clock.monotonicMs() - reader.lastMs < idleAfterMs)
          continue;
        reader.isIdle = true;
        topology.settle();
      }
    }
  }

  async #lookForPartitions(): Promise<void> {
    const { clock, random, graph, logger } = this.#deps;
    if (clock.monotonicMs() - this.#partitionsAtMs < PARTITIONS_EVERY_MS) return;
    this.#partitionsAtMs = clock.monotonicMs();
    const { readers } = this.#current();
    for (const { source } of graph.sources) {
      const found = await source.partitions(this.#abort.signal).catch((thrown: unknown) => {
        if (thrown instanceof SynclineError && thrown.retryable) return [];
        throw thrown;
      });
      for (const partition of found) {
        if (readers.all.some((each) => each.source === source && each.partition === partition))
          continue;
        logger.info('partition found', { source: source.uid, partition });
        const onRetry = () => undefined;
        const deps = { clock, random, wake: this.#wake.call, onRetry };
        const reader = new PartitionReader(source, partition, undefined, deps);
        readers.add(reader);
        reader.start();
      }
    }
  }

  #isCheckpointDue(): boolean {
    if (this.#inFlight !== undefined) return false;
    const { clock, settings } = this.#deps;
    const { topology, states } = this.#current();
    if (this.#requests.length > 0) return true;
    const nowMs = clock.monotonicMs();
    const records = topology.recordsIn - this.#recordsAtCheckpoint;
    const isForced =
      states.changedBytes > settings.dirtyBytesMax || records >= settings.everyRecords;
    const lastMs = this.#nextCheckpointMs - settings.everyMs;
    if (isForced) return nowMs >= lastMs + settings.minPauseMs;
    return nowMs >= this.#nextCheckpointMs && this.#hasNews();
  }

  #hasNews(): boolean {
    const { topology, writers, states } = this.#current();
    if (topology.recordsIn !== this.#recordsAtCheckpoint || states.changedBytes > 0) return true;
    return [...writers.values()].some((writer) => writer.hasOutput);
  }

  /** Nothing more fits before the checkpoint in flight is done. */
  #isFull(): boolean {
    if (this.#inFlight === undefined) return false;
    const { settings } = this.#deps;
    const { states, topology } = this.#current();
    const records = topology.recordsIn - this.#recordsAtCheckpoint;
    return records >= settings.everyRecords || states.changedBytes > settings.dirtyBytesMax;
  }

  #startCheckpoint(isFinal: boolean): Promise<void> {
    const { storage, clock, random, settings } = this.#deps;
    const session = this.#current();
    const requests = this.#requests;
    this.#requests = [];
    this.#checkSize(session);
    const checkpoint = new Checkpoint(
      { storage, clock, random, onStall: (sink, error) => this.#stall(sink, error) },
      session,
      isFinal,
    );
    this.#recordsAtCheckpoint = session.topology.recordsIn;
    this.#nextCheckpointMs = clock.monotonicMs() + settings.everyMs;
    const run = async () => {
      const info = await checkpoint.store();
      const durableMs = clock.monotonicMs();
      await checkpoint.publish(this.#abort.signal);
      this.#deps.metrics.committed(session, info, clock.monotonicMs() - durableMs);
      await session.states.scrub(info.epoch);
      this.#lastCheckpoint = info;
      this.#retries = 0;
      for (const { resolve } of requests) resolve(info);
      for (const listener of this.#listeners) {
        if (listener.offer(info) === 'full') {
          listener.takeNow();
          listener.offer(info);
        }
      }
      this.#deps.report(this);
    };
    const done = run()
      .catch((thrown: unknown) => {
        this.#failure ??= thrown;
        for (const { reject } of requests) reject(thrown);
      })
      .finally(() => {
        if (this.#failure === undefined) this.#inFlight = undefined;
        this.#nextCheckpointMs = Math.max(
          this.#nextCheckpointMs,
          clock.monotonicMs() + settings.minPauseMs,
        );
        this.#wake.call();
      });
    this.#inFlight = { checkpoint, done };
    return done;
  }

  #checkSize({ states }: Session): void {
    const { options, settings } = this.#deps;
    if (options.backend !== 'memory') return;
    let bytes = 0;
    for (const size of states.sizes().values()) bytes += size.bytes;
    if (bytes <= settings.memoryStateBytesMax) return;
    throw new SynclineError(
      'limit-exceeded',
      `the state in memory takes about ${bytes} bytes, more than ${settings.memoryStateBytesMax}. ` +
        "Take a savepoint and restore it with `state: 'embedded'`.",
      { details: { limit: 'memoryStateBytesMax' } },
    );
  }

  #stall(sink: string, error: SynclineError | undefined): void {
    this.#stalledBy = error && `sink ${sink}: ${error.message}`;
    if (isOver(this.#state) || this.#state === 'starting') return;
    this.#enter(error === undefined ? 'resumed' : 'stalled');
  }

  #takeFailure(): unknown {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  /** Back to the last durable epoch, if waiting may help; else throws. */
  async #abandon(thrown: unknown): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const inFlight = this.#inFlight;
    await inFlight?.done;
    this.#failure = undefined;
    this.#inFlight = undefined;
    const session = this.#current();
    await session.readers.close();
    for (const writer of session.writers.values()) await writer.abort().catch(() => undefined);
    const isDurable = inFlight?.checkpoint.isDurable === true;
    if (inFlight !== undefined && !isDurable) await inFlight.checkpoint.abandon();
    const error = thrown instanceof SynclineError ? thrown : undefined;
    const mayHelp = error?.retryable === true && error.outcome !== 'unknown';
    if (!mayHelp || this.#abort.signal.aborted || this.#state === 'stopping') throw thrown;
    logger.warn('epoch abandoned', { code: error.code, reason: error.message });
    this.#deps.metrics.abandoned(error.code);
    this.#stalledBy = error.message;
    this.#enter('abandoned');
    this.#enter('stalled');
    for (;;) {
      await clock.sleep(backoffMs(this.#retries, RETRY, random), this.#abort.signal);
      this.#retries += 1;
      try {
        await this.#recover();
        break;
      } catch (again) {
        const isRetryable = again instanceof SynclineError && again.retryable;
        if (!isRetryable || again.outcome === 'unknown') throw again;
      }
    }
    this.#stalledBy = undefined;
    this.#enter('recovered');
  }

  /** `run.stop()`: what was read is committed before the run ends. */
  async #stopInOrder(): Promise<boolean> {
    const { session, inFlight } = { session: this.#current(), inFlight: this.#inFlight };
    await session.readers.close();
    await inFlight?.done;
    if (this.#failure !== undefined) throw this.#takeFailure();
    if (this.#hasNews()) await this.#lastCheckpointOf(false);
    return false;
  }

  async #lastCheckpointOf(isFinal: boolean): Promise<void> {
    await this.#startCheckpoint(isFinal);
    if (this.#failure !== undefined) throw this.#takeFailure();
  }

  /** The signal: nothing new begins. An epoch whose batch is on its way is completed if the sinks can. */
  async #stopNow(): Promise<boolean> {
    await this.#inFlight?.done;
    this.#failure = undefined;
    return false;
  }

  async #end(event: RunEvent, thrown: unknown): Promise<void> {
    const session = this.#current();
    this.#timer?.cancel();
    await session.readers.close();
    for (const writer of session.writers.values()) await writer.abort().catch(() => undefined);
    for (const { reject, resolve } of this.#requests) {
      if (thrown === undefined) resolve(undefined);
      else reject(thrown);
    }
    this.#enter(event);
    for (const listener of this.#listeners) {
      if (thrown === undefined) listener.close();
      else listener.fail(SynclineError.from(thrown));
    }
    this.#deps.report(this);
    await this.#deps.close();
  }

  #enter(event: RunEvent): void {
    const before = this.#state;
    this.#state = nextState(before, event);
    if (this.#state === before) return;
    this.#deps.logger.info('run state changed', { state: this.#state });
    this.#deps.progress.offer(this.progress(), true);
  }

  #current(): Session {
    assert(this.#session !== undefined, 'a run has recovered');
    return this.#session;
  }

  #abortNow(): void {
    const { clock, settings } = this.#deps;
    const inFlight = this.#inFlight;
    // An epoch that is durable, or may be, gets some time for its sinks.
    if (inFlight?.checkpoint.isIssued === true) {
      const timer = clock.setTimer(settings.stopGraceMs, () => this.#abort.abort(), {
        unref: true,
      });
      if (!isOver(this.#state)) this.#enter('stop');
      void inFlight.done.then(() => {
        timer.cancel();
        this.#abort.abort();
        this.#wake.call();
      });
      return;
    }
    if (!isOver(this.#state)) this.#enter('stop');
    this.#abort.abort();
    this.#wake.call();
  }

  progress(): PipelineProgress {
    const { graph, clock } = this.#deps;
    const session = this.#session;
    const readers = session?.readers.all ?? [];
    const watermarkMs = session?.topology.watermarkMs ?? Number.NEGATIVE_INFINITY;
    const holding = readers.filter((reader) => !reader.isIdle && !reader.isEnded);
    const lowest = Math.min(...holding.map((reader) => reader.watermarkMs));
    const stale = holding.find(
      (reader) =>
        reader.watermarkMs === lowest &&
        clock.monotonicMs() - reader.lastMs > streamsLimits.stallWarnMs.value,
    );
    return {
      pipeline: graph.name,
      slot: 0,
      state: this.#state,
      epoch: session?.head?.epoch ?? 0,
      generation: session?.fence.generation ?? 0,
      recordsIn: session?.topology.recordsIn ?? 0,
      recordsOut: session?.head?.recordsOut ?? 0,
      lagRecords: readers.reduce((sum, reader) => sum + reader.lagRecords, 0),
      watermarkMs: Number.isFinite(watermarkMs) ? watermarkMs : null,
      heldBackBy: stale?.origin ?? null,
      lastCheckpointMs: this.#lastCheckpoint?.tookMs ?? null,
      error: this.#stalledBy ?? null,
    };
  }

  /** Checkpoints from now on, until the run ends. A reader that is too slow misses the oldest. */
  async *checkpoints(): AsyncGenerator<CheckpointInfo> {
    const { value: itemsMax } = streamsLimits.checkpointsBufferedMax;
    const queue = new BoundedQueue<CheckpointInfo>({ itemsMax });
    if (isOver(this.#state)) {
      await this.#finished;
      return;
    }
    this.#listeners.add(queue);
    try {
      yield* queue;
    } finally {
      this.#listeners.delete(queue);
    }
  }

  /** Starts a checkpoint as soon as one can start, and resolves when its sinks have committed. */
  async checkpoint(): Promise<CheckpointInfo | undefined> {
    if (isOver(this.#state)) return this.#lastCheckpoint;
    return await new Promise((resolve, reject) => {
      this.#requests.push({ resolve, reject });
      this.#wake.call();
    });
  }

  /**
   * Writes a portable copy of the state and positions of the last checkpoint, and returns its path. The run
   * goes on meanwhile. Never removed by the pipeline.
   */
  async savepoint(name: string): Promise<string> {
    while (this.#inFlight !== undefined) await this.#inFlight.done;
    return await this.#deps.save(name, this.#session?.head?.epoch ?? 0);
  }

  /** Reads no more, commits what was read, and ends. Throws what the run failed on. */
  async stop(): Promise<void> {
    if (!isOver(this.#state)) this.#enter('stop');
    this.#wake.call();
    await this.#finished;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
