// A run: the loop that reads, processes and checkpoints, and its public methods.
//
// One loop owns everything. Sources read ahead and checkpoints are written concurrently; both only wake it. When an
// attempt at an epoch fails with a retryable error, the loop discards all state and recovers from the last durable
// epoch within the process. This is the same recovery as after a crash.
import { abortedError, assert, backoffMs, SynclineError, type Timer } from '@syncline/kernel';
import { nextTurn } from '../state/cells.js';
import { checkSize } from '../store/pipeline-states.js';
import { Checkpoint, type CheckpointInfo } from './checkpoint.js';
import { CheckpointListeners } from './checkpoint-listeners.js';
import { CheckpointPace } from './checkpoint-pace.js';
import { type PipelineProgress, progressOf, reasonOf } from './progress.js';
import { recover, type Session } from './recovery.js';
import type { RunDeps } from './run-deps.js';
import { isOver, nextState, type RunEvent, type RunState } from './run-state.js';
import { RunWarnings } from './run-warnings.js';
import { isHarmlessToAbort, isWorthRetrying, RETRY, type ReaderDeps } from './source-reader.js';
import { Wake } from './wake.js';

const PARTITIONS_EVERY_MS = 30_000;
const INTERRUPT_EVERY_MS = 1_000; // when busy, to report progress and look for partitions

export class PipelineRun implements AsyncDisposable {
  readonly #deps: RunDeps;
  readonly #readerDeps: ReaderDeps;
  readonly #pace: CheckpointPace;
  readonly #warnings: RunWarnings;
  readonly #wake = new Wake();
  readonly #abort = new AbortController();
  /** Aborted when the run should end, in any way: retries do not continue. */
  readonly #ending = new AbortController();
  /** Aborted when the run has ended. */
  readonly #ended = new AbortController();
  readonly #listeners = new CheckpointListeners();
  #state: RunState = 'starting';
  #session: Session | undefined;
  #inFlight: { readonly checkpoint: Checkpoint; readonly done: Promise<void> } | undefined;
  #failure: unknown;
  #lastCheckpoint: CheckpointInfo | undefined;
  #retries = 0;
  #isRecovering = false;
  #timer: Timer | undefined;
  #finished: Promise<void> = Promise.resolve();
  #error: string | undefined; // why the run is stalled, or has failed
  #partitionsAtMs = 0;
  #interruptAtMs = 0;

  constructor(deps: RunDeps) {
    this.#deps = deps;
    const { clock, random, logger, settings } = deps;
    this.#pace = new CheckpointPace(clock, settings);
    this.#warnings = new RunWarnings(deps);
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

  /** Resolves when the run has ended normally, and rejects with the error that it failed with. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  /** Verifies, fences and loads, then starts processing. Throws if recovery fails. */
  async begin(signal: AbortSignal | undefined): Promise<void> {
    signal?.addEventListener('abort', this.#abortNow, { once: true, signal: this.#ended.signal });
    if (signal?.aborted === true) this.#abortNow();
    this.#enter('opened');
    try {
      await this.#recover();
    } catch (thrown) {
      this.#enter('failed', thrown);
      this.#ended.abort();
      await this.#session?.engine.close();
      throw thrown;
    }
    this.#finished = this.#main();
    this.#finished.catch(() => undefined); // callers get it from `finished`
  }

  async #recover(): Promise<void> {
    const { clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    const held = this.#session?.fence;
    const session = await recover(this.#deps, held, this.#readerDeps, this.#abort.signal);
    this.#session = session;
    this.#deps.metrics.recovered(session, clock.monotonicMs() - startedMs);
    this.#pace.recovered(session);
    if (session.head?.isFinished === true) return;
    if (session.isUpgraded) await this.#deps.save(undefined, session.head?.epoch ?? 0);
    await session.engine.start((session.head?.epoch ?? 0) + 1);
    this.#partitionsAtMs = clock.monotonicMs();
  }

  async #main(): Promise<void> {
    const { logger, explain } = this.#deps;
    let isFinished = this.#session?.head?.isFinished === true;
    if (isFinished) this.#warnings.alreadyFinished(this.progress());
    else this.#enter('recovered');
    try {
      while (!isFinished) {
        try {
          isFinished = await this.#work();
          break;
        } catch (thrown) {
          if (!(await this.#abandon(thrown))) break;
        }
      }
    } catch (thrown) {
      const explained = await explain(thrown);
      await this.#end('failed', explained).catch((other: unknown) => {
        logger.warn('run not closed cleanly', { reason: reasonOf(other) });
      });
      throw explained;
    }
    await this.#end(isFinished ? 'ended' : 'closed', undefined);
  }

  /** Processes until the end of all sources (true) or a stop (false). */
  async #work(): Promise<boolean> {
    for (;;) {
      const session = this.#current();
      const { engine } = session;
      await engine.work(() => this.#isInterrupted(session));
      this.#throwFailure();
      if (this.#abort.signal.aborted) return await this.#stopNow();
      if (this.#state === 'stopping') return await this.#stopInOrder();
      await engine.flush();
      if (engine.isEnded && this.#inFlight === undefined) {
        await this.#lastCheckpointOf(true);
        return true;
      }
      const nowMs = this.#deps.clock.monotonicMs();
      this.#interruptAtMs = nowMs + INTERRUPT_EVERY_MS;
      if (nowMs - this.#partitionsAtMs >= PARTITIONS_EVERY_MS) {
        this.#partitionsAtMs = nowMs;
        await engine.discoverPartitions(this.#abort.signal);
      }
      this.#deps.progress.offer(this.progress(), false);
      this.#deps.metrics.watch(session);
      this.#setTimer();
      await this.#wake.wait();
    }
  }

  /** Called before each batch: starts due checkpoints, and pauses reading when too much has changed. */
  #isInterrupted(session: Session): boolean {
    const isEnding = this.#failure !== undefined || this.#abort.signal.aborted;
    if (isEnding || this.#state === 'stopping') return true;
    if (this.#inFlight === undefined && this.#pace.isDue(session)) {
      void this.#startCheckpoint(false);
    }
    if (this.#pace.isFull(session)) return true;
    if (this.#deps.clock.monotonicMs() < this.#interruptAtMs) return false;
    this.#wake.call(); // the work continues right after the report
    return true;
  }

  /** Wakes the loop for the next checkpoint, clock timer or idle partition. */
  #setTimer(): void {
    const session = this.#current();
    this.#timer?.cancel();
    const tickMs = session.engine.nextTickMs - this.#warnings.readWallMs();
    // A checkpoint in flight wakes the loop when it ends.
    const dueMs = this.#inFlight === undefined ? this.#pace.dueInMs(session) : 1_000;
    const waitMs = Math.max(1, Math.min(dueMs, tickMs, 1_000));
    this.#timer = this.#deps.clock.setTimer(waitMs, this.#wake.call);
  }

  #startCheckpoint(isFinal: boolean): Promise<void> {
    const { graph, storage, clock, random, options, settings } = this.#deps;
    const session = this.#current();
    if (options.backend === 'memory') checkSize(session.states, settings.memoryStateBytesMax);
    const requests = this.#pace.started(session);
    const checkpoint = new Checkpoint(
      { graph, storage, clock, random, onStall: (sink, error) => this.#stall(sink, error) },
      session,
      isFinal,
    );
    const timeOut = () => checkpoint.timeOut();
    const timeout = clock.setTimer(settings.checkpointTimeoutMs, timeOut, { unref: true });
    const run = async () => {
      const info = await checkpoint.store().finally(() => timeout.cancel());
      this.#pace.stored(info);
      this.#deps.metrics.durable(info.epoch);
      session.engine.committed(info.epoch);
      const durableMs = clock.monotonicMs();
      await checkpoint.publish(this.#abort.signal);
      const publishMs = clock.monotonicMs() - durableMs;
      this.#deps.metrics.committed(session, info, publishMs);
      this.#warnings.checkpointed(info, publishMs);
      this.#lastCheckpoint = info;
      this.#retries = 0;
      for (const { resolve } of requests) resolve(info);
      this.#listeners.publish(info);
      this.#deps.report(this.progress());
      await session.states.scrub(info.epoch);
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
    this.#error = error && `sink ${sink}: ${error.message}`;
    if (isOver(this.#state) || this.#state === 'starting') return;
    this.#enter(error === undefined ? 'resumed' : 'stalled');
  }

  #throwFailure(): void {
    if (this.#failure === undefined) return;
    const failure: unknown = this.#failure;
    this.#failure = undefined;
    throw failure;
  }

  /**
   * Returns to the last durable epoch if the error is retryable; otherwise, or if the run is being stopped, throws it.
   * Resolves to false if the run was aborted instead.
   */
  async #abandon(thrown: unknown): Promise<boolean> {
    const { clock, random, logger } = this.#deps;
    const inFlight = this.#inFlight;
    await inFlight?.done;
    this.#isRecovering = true;
    this.#failure = undefined;
    this.#inFlight = undefined;
    const session = this.#current();
    await session.engine.close();
    // Once its batch is being written, the epoch may be durable regardless of the error, and its output is owed.
    if (inFlight?.checkpoint.isIssued === false) await inFlight.checkpoint.abandon(thrown);
    if (this.#abort.signal.aborted && isHarmlessToAbort(thrown)) return false;
    if (!isWorthRetrying(thrown, this.#retries) || this.#state === 'stopping') throw thrown;
    logger.warn('epoch abandoned', { code: thrown.code, reason: thrown.message });
    this.#deps.metrics.abandoned(thrown.code);
    this.#enter('abandoned', thrown);
    this.#enter('stalled');
    let failure: unknown = thrown;
    for (;;) {
      const waitMs = backoffMs(this.#retries, RETRY, random);
      await clock.sleep(waitMs, this.#ending.signal).catch(() => undefined);
      if (this.#abort.signal.aborted && isHarmlessToAbort(failure)) return false;
      if (this.#ending.signal.aborted) throw failure;
      this.#retries += 1;
      try {
        await this.#recover();
        break;
      } catch (again) {
        await this.#session?.engine.close();
        if (!isWorthRetrying(again, this.#retries) && !this.#abort.signal.aborted) throw again;
        failure = again;
      }
    }
    this.#isRecovering = false;
    this.#error = undefined;
    this.#enter('recovered');
    return true;
  }

  /** `run.stop()`: everything that was read is committed before the run ends. */
  async #stopInOrder(): Promise<boolean> {
    const session = this.#current();
    await session.engine.stopReading();
    await this.#inFlight?.done;
    this.#throwFailure();
    if (this.#pace.hasUnsavedWork(session)) await this.#lastCheckpointOf(false);
    return false;
  }

  async #lastCheckpointOf(isFinal: boolean): Promise<void> {
    await this.#startCheckpoint(isFinal);
    this.#throwFailure();
  }

  /**
   * The signal was aborted: nothing new is started. An epoch whose batch is being written is completed if the sinks can
   * commit; otherwise its output is owed. A failed disk is still reported.
   */
  async #stopNow(): Promise<boolean> {
    await this.#inFlight?.done;
    this.#throwFailure();
    return false;
  }

  async #end(event: RunEvent, thrown: unknown): Promise<void> {
    this.#timer?.cancel();
    this.#ended.abort();
    try {
      await this.#current().engine.close();
      this.#enter(event, thrown);
    } finally {
      this.#pace.refuse(thrown);
      this.#listeners.end();
      await this.#deps.close();
    }
  }

  #enter(event: RunEvent, thrown?: unknown): void {
    const before = this.#state;
    this.#state = nextState(before, event);
    if (thrown !== undefined) this.#error = reasonOf(thrown);
    if (this.#state === before) return;
    this.#deps.logger.info('run state changed', { state: this.#state });
    this.#deps.progress.offer(this.progress(), true);
    if (this.#session !== undefined) this.#deps.report(this.progress()); // before recovery the epoch is unknown
  }

  #current(): Session {
    assert(this.#session !== undefined, 'a run has recovered');
    return this.#session;
  }

  readonly #abortNow = (): void => {
    const { clock, settings } = this.#deps;
    const inFlight = this.#inFlight;
    const abort = () => {
      this.#inFlight?.checkpoint.giveUp(abortedError('the checkpoint', this.#abort.signal));
      this.#abort.abort();
      this.#wake.call();
    };
    if (!isOver(this.#state)) this.#enter('stop');
    this.#ending.abort();
    if (inFlight?.checkpoint.isIssued !== true) {
      abort();
      return;
    }
    // Gives the sinks of an epoch that is, or may be, durable some time to commit.
    const timer = clock.setTimer(settings.stopGraceMs, abort, { unref: true });
    void inFlight.done.then(() => {
      timer.cancel();
      abort();
    });
  };

  progress(): PipelineProgress {
    const { graph, clock } = this.#deps;
    return progressOf(graph.name, this.#session, clock.monotonicMs(), {
      state: this.#state,
      lastCheckpointMs: this.#lastCheckpoint?.tookMs ?? null,
      checkpointBytes: this.#lastCheckpoint?.bytes ?? null,
      error: this.#error ?? null,
    });
  }

  /** Checkpoints until the run ends. Throws the error that the run failed with. A slow reader misses the oldest. */
  async *checkpoints(): AsyncGenerator<CheckpointInfo> {
    if (!isOver(this.#state)) yield* this.#listeners.subscribe();
    await this.#finished;
  }

  /** Resolves when the sinks have committed what has happened so far: if anything has, takes a checkpoint soon. */
  async checkpoint(): Promise<CheckpointInfo | undefined> {
    if (isOver(this.#state)) return this.#lastCheckpoint;
    const asked = this.#pace.request();
    this.#wake.call();
    return await asked;
  }

  /**
   * Writes a portable copy of the state and positions of the last checkpoint, and returns its path. The run continues
   * in the meantime. The pipeline never removes the copy.
   */
  async savepoint(name: string): Promise<string> {
    while (this.#inFlight !== undefined) {
      await this.#inFlight.done;
      await nextTurn(this.#deps.clock); // a failed one stays until the run has handled the error
    }
    // Recovery may still have to deliver the output of the last epoch, which the copy would not contain.
    if (this.#isRecovering)
      throw new SynclineError('unavailable', 'the run is recovering; save later');
    return await this.#deps.save(name, this.#session?.head?.epoch ?? 0);
  }

  /** Stops reading, commits everything that was read, and ends. Throws the error that the run failed with. */
  async stop(): Promise<void> {
    if (!isOver(this.#state)) this.#enter('stop');
    this.#ending.abort();
    this.#wake.call();
    await this.#finished;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
