// Checkpoints bound the log: one file with every element as of one log number, then the log before it is removed.
//
//   pin ─▶ walk in slices ─▶ N.tmp ─▶ sync the log, sync the file ─▶ rename to N.ckpt, sync the directory
//                                                                    ─▶ drop older checkpoints and segments
//
// One is taken when the log since the last one has outgrown it, on request, and at a clean stop that would leave much
// to replay. While clients write it takes at most a fifth of the event loop. A crash at any step leaves the previous
// checkpoint with its log, or the new one.
//
// S21  Checkpoint and log together give the state that was running, for every crash point.
import {
  assert,
  type Clock,
  type Files,
  type Logger,
  type Metrics,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import type { SegmentLog } from '@syncline/kernel/node';
import type { EngineLimits } from '../limits.js';
import { memberBuffer, memberEnd, memberStart } from '../memory/element-row.js';
import { BlockKind, CheckpointEncoder } from './checkpoint-format.js';
import type { IdentityOptions } from './identity.js';
import { DotPin } from './pins.js';
import type { SetsState } from './sets-state.js';
import type { Turns } from './turns.js';

export const CHECKPOINT_DIRECTORY = 'checkpoint';

/** While clients write, one part of work is followed by four parts of waiting. */
const REST_RATIO = 4;
/** How long a slice holds the event loop, or one step if that takes longer: a command waits for one at most. */
const SLICE_MS = 0.1;
/**
 * The same while many of the pinned elements are being dropped. A checkpoint that is broken by that has to start
 * over.
 */
const HURRIED_SLICE_MS = 2;
/** Synced this often, as Redis does: one sync at the end would hold up the log, whose disk it shares. */
const SYNC_BYTES = 4 * 1024 * 1024;
/** How long to wait after a checkpoint that hit a full disk, or was broken by too many changes. */
const RETRY_MS = 10_000;

export interface CheckpointsDeps {
  readonly state: SetsState;
  readonly turns: Turns;
  readonly log: SegmentLog;
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits: EngineLimits;
  /** A repair is half in the log: a checkpoint now would lose it. */
  isHeld(): boolean;
  onFailed(error: SynclineError): void;
}

/** The newest checkpoint on disk; number 0 and no bytes when there is none. */
export interface LastCheckpoint {
  readonly number: number;
  readonly bytes: number;
  readonly takenMs: number;
}

export class Checkpoints {
  readonly #deps: CheckpointsDeps;
  readonly #identity: IdentityOptions;
  last: LastCheckpoint;
  #lastStatus: 'ok' | 'err' = 'ok';
  #lastSeconds = -1;
  #runningSinceMs: number | undefined;
  #running: Promise<void> | undefined;
  #operationsAtLast = 0;
  /** The number of operations after the previous slice. */
  #operationsSeen = 0;
  #retryTimer: Timer | undefined;
  #isStopped = false;

  constructor(deps: CheckpointsDeps, identity: IdentityOptions, last: LastCheckpoint) {
    this.#deps = deps;
    this.#identity = identity;
    this.last = last;
  }

  facts() {
    const { clock, turns } = this.#deps;
    const since = this.#runningSinceMs;
    return {
      isRunning: since !== undefined,
      /** How long the running one has taken so far. */
      currentSeconds: since === undefined ? -1 : (clock.monotonicMs() - since) / 1000,
      /** Wall time of the last successful one. */
      lastSaveMs: this.last.takenMs,
      lastSeconds: this.#lastSeconds,
      lastStatus: this.#lastStatus,
      /** Elements changed since the last successful one. */
      changesSince: turns.operationsCount - this.#operationsAtLast,
    };
  }

  /** To be called after turns: starts one when the log has outgrown the last. */
  startIfDue(): void {
    const { log, limits } = this.#deps;
    if (this.#runningSinceMs !== undefined || this.#retryTimer !== undefined) return;
    const due = Math.max(limits.checkpointLogBytesMin, this.last.bytes);
    if (log.bytesFrom(this.last.number + 1) > due) this.start();
  }

  start(): boolean {
    if (this.#runningSinceMs !== undefined || this.#isStopped || this.#deps.isHeld()) return false;
    this.#retryTimer?.cancel();
    this.#retryTimer = undefined;
    // Set before the first step: that ends the turn, and the code that runs after a turn checks whether to start a
    // checkpoint.
    this.#runningSinceMs = this.#deps.clock.monotonicMs();
    this.#running = this.#run();
    return true;
  }

  /** Takes a last one if much would have to be replayed. Nothing else may change the sets meanwhile. */
  async stop(): Promise<void> {
    const { log, limits } = this.#deps;
    await this.#running;
    this.#retryTimer?.cancel();
    const replayBytes = log.bytesFrom(this.last.number + 1);
    if (replayBytes > limits.stopReplayBytesMax && this.start()) await this.#running;
    this.dispose();
  }

  dispose(): void {
    this.#isStopped = true;
    this.#retryTimer?.cancel();
  }

  async #run(): Promise<void> {
    const { clock, logger, metrics, turns } = this.#deps;
    const startMs = clock.monotonicMs();
    const operations = turns.operationsCount;
    try {
      await this.#write();
      this.#lastStatus = 'ok';
      this.#operationsAtLast = operations;
      this.#lastSeconds = (clock.monotonicMs() - startMs) / 1000;
      metrics.observe('syncline_sets_checkpoint_seconds', this.#lastSeconds);
      const { number, bytes } = this.last;
      logger.info('checkpoint written', { number, bytes, seconds: this.#lastSeconds });
    } catch (thrown) {
      this.#lastStatus = 'err';
      this.#failed(SynclineError.from(thrown, 'storage-failed'));
    } finally {
      this.#runningSinceMs = undefined;
    }
  }

  #failed(error: SynclineError): void {
    const { clock, logger, onFailed } = this.#deps;
    if (this.#isStopped) return;
    if (error.code === 'storage-failed' || error.code === 'corrupt') {
      onFailed(error);
      return;
    }
    logger.warn('checkpoint failed', { code: error.code, reason: error.message });
    this.#retryTimer = clock.setTimer(RETRY_MS, () => {
      this.#retryTimer = undefined;
      this.startIfDue();
    });
  }

  async #write(): Promise<void> {
    const { state, turns, log, files, clock, limits } = this.#deps;
    turns.commitNow();
    const number = log.nextNumber - 1;
    const takenMs = clock.nowMs();
    const digest = state.digestNow();
    using pin = new DotPin(state);
    const { version } = pin;
    const encoder = new CheckpointEncoder(
      { ...this.#identity, takenMs, logNumber: number, version },
      limits.checkpointBlockBytesMax,
    );
    const temporary = `${CHECKPOINT_DIRECTORY}/${fileName(number)}.tmp`;
    const path = checkpointPath(number);
    await removeIfThere(files, temporary);
    try {
      const bytes = await this.#writeElements(pin, encoder, temporary);
      assert(encoder.dots === digest.liveDots, 'S20: a checkpoint holds the dots of its moment');
      encoder.end(digest);
      await files.append(temporary, encoder.take());
      await log.sync();
      await files.sync(temporary);
      await files.rename(temporary, path);
      await files.syncDir(CHECKPOINT_DIRECTORY);
      this.last = { number, takenMs, bytes };
    } catch (thrown) {
      pin.close();
      await removeIfThere(files, temporary).catch(() => undefined); // the first error counts
      throw thrown;
    }
    for (const older of await listCheckpoints(files))
      if (older < number) await files.remove(checkpointPath(older));
    await log.dropBefore(number + 1);
  }

  async #writeElements(pin: DotPin, encoder: CheckpointEncoder, path: string): Promise<number> {
    const { state, files, limits } = this.#deps;
    const { checkpointStepRows: stepRows, checkpointChunkBytes: chunkBytes } = limits;
    const { heap } = state;
    let bytes = 0;
    let syncedBytes = 0;
    const flush = async () => {
      const chunk = encoder.take();
      bytes += chunk.length;
      if (chunk.length > 0) await files.append(path, chunk);
      if (bytes - syncedBytes < SYNC_BYTES) return;
      await files.sync(path);
      syncedBytes = bytes;
    };
    const walk = () =>
      pin.walk(stepRows, (set, row, dots) => {
        const { elements } = BlockKind;
        const buffer = memberBuffer(heap, row);
        encoder.add(elements, set.name, dots, buffer, memberStart(row), memberEnd(heap, row));
      });
    while (await this.#slice(walk, encoder)) if (encoder.readyBytes >= chunkBytes) await flush();
    encoder.closeBlock();
    const list = () =>
      pin.walkDropped(stepRows, (set, member, dot) => {
        encoder.add(BlockKind.dropped, set.name, [dot], member);
      });
    while (await this.#slice(list, encoder)) if (encoder.readyBytes >= chunkBytes) await flush();
    encoder.closeBlock();
    await flush();
    return bytes;
  }

  /** Runs steps for one slice, then rests. False when the work is done. */
  async #slice(step: () => boolean, encoder: CheckpointEncoder): Promise<boolean> {
    const { state, clock, turns, limits } = this.#deps;
    const { checkpointChunkBytes: chunkBytes } = limits;
    const sliceMs = state.pins.areHalfFull ? HURRIED_SLICE_MS : SLICE_MS;
    const startMs = clock.monotonicMs();
    turns.commitNow(); // a pin is walked between turns
    let isMore = true;
    let usedMs = 0;
    while (isMore && usedMs < sliceMs && encoder.readyBytes < chunkBytes) {
      isMore = step();
      usedMs = clock.monotonicMs() - startMs;
    }
    await new Promise<void>((resolve) => clock.defer(resolve));
    const { operationsCount } = turns;
    const isQuiet = operationsCount === this.#operationsSeen;
    this.#operationsSeen = operationsCount;
    if (!isQuiet) await clock.sleep(usedMs * REST_RATIO);
    return isMore;
  }
}

/** Checkpoints that are complete, the newest last. */
export async function listCheckpoints(files: Files): Promise<readonly number[]> {
  const names = await files.list(CHECKPOINT_DIRECTORY);
  return names
    .filter((name) => /^\d{16}\.ckpt$/.test(name))
    .map((name) => Number(name.slice(0, 16)))
    .sort((a, b) => a - b);
}

export function checkpointPath(number: number): string {
  return `${CHECKPOINT_DIRECTORY}/${fileName(number)}.ckpt`;
}

export async function removeTemporary(files: Files): Promise<void> {
  for (const name of await files.list(CHECKPOINT_DIRECTORY))
    if (name.endsWith('.tmp')) await files.remove(`${CHECKPOINT_DIRECTORY}/${name}`);
}

async function removeIfThere(files: Files, path: string): Promise<void> {
  if ((await files.stat(path)) !== undefined) await files.remove(path);
}

function fileName(number: number): string {
  return String(number).padStart(16, '0');
}
