// A run: the loop that reads, processes and checkpoints, and what a user can do with it.
//
// One loop owns everything. Sources read ahead and checkpoints are written beside it; both only wake it.
// When an attempt at an epoch fails and waiting may help, the loop throws all state away and recovers from
// the last durable epoch inside the process: there is one way back, the same as after a crash.
import { assert, backoffMs, type Logger, SynclineError, type Timer } from '@syncline/kernel';
import { nextTurn } from '../state/cells.js';
import { checkSize } from '../store/pipeline-states.js';
import { Checkpoint, type CheckpointInfo } from './checkpoint.js';
import { CheckpointListeners } from './checkpoint-listeners.js';
import { CheckpointPace, type PaceSettings } from './checkpoint-pace.js';
import { type PipelineProgress, type ProgressGate, progressOf } from './progress.js';
import { type RecoveryDeps, recover, type Session } from './recovery.js';
import type { RunMetrics } from './run-metrics.js';
import { isOver, nextState, type RunEvent, type RunState } from './run-state.js';
import { RETRY, type ReaderDeps } from './source-reader.js';
import { Wake } from './wake.js';

export interface RunSettings extends PaceSettings {
  readonly stopGraceMs: number;
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
  readonly #readerDeps: ReaderDeps;
  readonly #pace: CheckpointPace;
  readonly #wake = new Wake();
  readonly #abort = new AbortController();
  readonly #listeners = new CheckpointListeners();
  #state: RunState = 'starting';
  #session: Session | undefined;
  #inFlight: { readonly checkpoint: Checkpoint; readonly done: Promise<void> } | undefined;
  #failure: unknown;
  #lastCheckpoint: CheckpointInfo | undefined;
  #retries = 0;
  #timer: Timer | undefined;
  #finished: Promise<void> = Promise.resolve();
  #stalledBy: string | undefined;
  #partitionsAtMs = 0;

  constructor(deps: RunDeps) {
    this.#deps = deps;
    const { clock, random, logger, settings } = deps;
    this.#pace = new CheckpointPace(clock, settings);
    this.#readerDeps = {
      clock,
      random,
      wake: this.#wake.call,
      onRetry: (uid, error) => logger.warn('source unavailable', { source: uid, code: error.code }),
    };
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
    const { clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    const session = await recover(
      this.#deps,
      this.#session?.fence,
      this.#readerDeps,
      this.#abort.signal,
    );
    this.#session = session;
    this.#deps.metrics.recovered(session, clock.monotonicMs() - startedMs);
    this.#pace.recovered(session);
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
        if (this.#inFlight === undefined && this.#pace.isDue(session)) {
          void this.#startCheckpoint(false);
        }
        if (this.#pace.isFull(session)) break;
        const { sources } = this.#deps.graph;
        if (readers.declareIdle(sources, clock.monotonicMs())) topology.settle();
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
    const dueMs = this.#pace.dueInMs;
    const waitMs = Math.min(Math.max(dueMs, 1), everyMs, Math.max(tickMs, 1), 1_000);
    this.#timer = clock.setTimer(waitMs, this.#wake.call);
  }

  async #lookForPartitions(): Promise<void> {
    const { clock, graph } = this.#deps;
    if (clock.monotonicMs() - this.#partitionsAtMs < PARTITIONS_EVERY_MS) return;
    this.#partitionsAtMs = clock.monotonicMs();
    const { readers } = this.#current();
    await readers.lookForMore(graph.sources, this.#readerDeps, this.#abort.signal);
  }

  #startCheckpoint(isFinal: boolean): Promise<void> {
    const { storage, clock, random } = this.#deps;
    const session = this.#current();
    const { options, settings } = this.#deps;
    if (options.backend === 'memory') checkSize(session.states, settings.memoryStateBytesMax);
    const requests = this.#pace.started(session);
    const checkpoint = new Checkpoint(
      { storage, clock, random, onStall: (sink, error) => this.#stall(sink, error) },
      session,
      isFinal,
    );
    const run = async () => {
      const info = await checkpoint.store();
      const durableMs = clock.monotonicMs();
      await checkpoint.publish(this.#abort.signal);
      this.#deps.metrics.committed(session, info, clock.monotonicMs() - durableMs);
      await session.states.scrub(info.epoch);
      this.#lastCheckpoint = info;
      this.#retries = 0;
      for (const { resolve } of requests) resolve(info);
      this.#listeners.publish(info);
      this.#deps.report(this);
    };
    const done = run()
      .catch((thrown: unknown) => {
        this.#failure ??= thrown;
        for (const { reject } of requests) reject(thrown);
      })
      .finally(() => {
        if (this.#failure === undefined) this.#inFlight = undefined;
        this.#pace.ended();
        this.#wake.call();
      });
    this.#inFlight = { checkpoint, done };
    return done;
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
    if (this.#pace.hasNews(session)) await this.#lastCheckpointOf(false);
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
    this.#pace.refuse(thrown);
    this.#enter(event);
    this.#listeners.end(thrown);
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
    return progressOf(graph.name, this.#session, clock.monotonicMs(), {
      state: this.#state,
      lastCheckpointMs: this.#lastCheckpoint?.tookMs ?? null,
      error: this.#stalledBy ?? null,
    });
  }

  /** Checkpoints from now on, until the run ends. A reader that is too slow misses the oldest. */
  async *checkpoints(): AsyncGenerator<CheckpointInfo> {
    if (isOver(this.#state)) await this.#finished;
    else yield* this.#listeners.subscribe();
  }

  /** Starts a checkpoint as soon as one can start, and resolves when its sinks have committed. */
  async checkpoint(): Promise<CheckpointInfo | undefined> {
    if (isOver(this.#state)) return this.#lastCheckpoint;
    const asked = this.#pace.request();
    this.#wake.call();
    return await asked;
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
