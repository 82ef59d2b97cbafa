// The sets of one node, and the parts that maintain them: memory, turns, log, checkpoints.
//
//   loading ─▶ serving ─▶ closing                    state      all elements, and how to undo a turn
//      │          └────▶ failed: no more writes      turns      group commit, syncs
//      └─ damaged: load rejects                      gate       who may write
//                                                    checkpoints
import {
  actorId,
  EPOCH_MAX,
  type Files,
  randomBelow,
  SynclineError,
  type Timer,
  type VersionVector,
} from '@syncline/kernel';
import type { SegmentLog } from '@syncline/kernel/node';
import { type EngineLimits, engineLimits } from '../limits.js';
import { createOrderKeys } from '../memory/order-hash.js';
import type { OwnOperations } from '../replication/committed-turns.js';
import { pullLimits } from '../replication/pull-limits.js';
import { Repairs } from '../replication/repairs.js';
import { Replica } from '../replication/replica.js';
import type { SetsDeps, SetsOptions } from '../sets.js';
import { Checkpoints } from './checkpoints.js';
import { EngineGauges } from './engine-gauges.js';
import { chooseEpoch, type Identity, restoredCopy, writeIdentity } from './identity.js';
import { load, openDirectory } from './load.js';
import { LocalOperation } from './local-changes.js';
import { LocalKeyspace } from './local-keyspace.js';
import { SetsState } from './sets-state.js';
import { LoopShare, Turns } from './turns.js';
import { WriteGate } from './write-gate.js';

/** How often a start on a full disk tries again to store its epoch. */
const CLAIM_RETRY_MS = 1_000;
const PROGRESS_LOG_MS = 1_000;
/** Room that must be left in the element heap for changes that are already admitted. */
const HEAP_MARGIN_BYTES = 64 * 1024 * 1024;

export type EngineOptions = SetsOptions &
  Required<Pick<SetsOptions, 'durability' | 'memoryBytesMax'>>;

export interface LoadProgress {
  readonly startedMs: number;
  readonly loadedBytes: number;
  readonly totalBytes: number;
}

export class SetsEngine {
  readonly state: SetsState;
  readonly turns: Turns;
  readonly keyspace: LocalKeyspace;
  /** Undefined if this node has no peers. */
  readonly replica: Replica | undefined;
  memoryBytesMax: number;
  readonly #deps: SetsDeps;
  readonly #options: EngineOptions;
  readonly #limits: EngineLimits;
  readonly #gate: WriteGate;
  readonly #repairs: Repairs;
  log: SegmentLog | undefined;
  checkpoints: Checkpoints | undefined;
  #identity: Identity | undefined;
  #isClaimed = false;
  #claimTimer: Timer | undefined;
  /** Why the epoch is not stored yet. */
  #claimError: SynclineError | undefined;
  #progress: LoadProgress | undefined;
  #isLoaded = false;
  #isClosing = false;
  readonly gauges: EngineGauges;
  /** Own operations from the log, until they are handed to the mesh. */
  #own: readonly OwnOperations[] = [];
  /** Own counter when the epoch was claimed. */
  #counterAtStart = 0;

  constructor(deps: SetsDeps, options: EngineOptions) {
    const { clock, random, metrics } = deps;
    this.#deps = deps;
    this.#options = options;
    this.memoryBytesMax = options.memoryBytesMax;
    this.#limits = { ...engineLimits, ...options.limits };
    this.state = new SetsState(createOrderKeys(options.clusterId), this.#limits);
    const { state } = this;
    const operation = new LocalOperation(state);
    const loop = new LoopShare(clock);
    this.turns = new Turns(
      {
        state,
        operation,
        clock,
        metrics,
        onCommitted: () => this.#onCommitted(),
        onFailed: (error) => this.#onFailed(error),
      },
      options.durability,
    );
    const { turns } = this;
    this.#gate = new WriteGate({ clock, turns, loop });
    const gate = this.#gate;
    this.keyspace = new LocalKeyspace({ state, operation, turns, gate, loop, random });
    const log = () => this.log;
    const onRepaired = () => this.#onRepaired();
    const sliceElements = options.pullLimits?.stepRows ?? pullLimits.stepRows;
    this.#repairs = new Repairs({ state, turns, gate, loop, sliceElements, log, onRepaired });
    this.replica = this.#createReplica(loop);
    this.gauges = new EngineGauges({ state, turns, clock, metrics, engine: this });
  }

  /** `failed`: a sync has failed in class synced, so nothing that reads sets may be answered. */
  get phase(): 'loading' | 'serving' | 'closing' | 'failed' {
    if (!this.#isLoaded || this.#repairs.isLoading) return 'loading';
    if (this.turns.failure !== undefined && this.turns.durability === 'synced') return 'failed';
    return this.#isClosing ? 'closing' : 'serving';
  }

  get isLoadingFromPeer(): boolean {
    return this.#repairs.isLoading;
  }

  get failure(): SynclineError | undefined {
    return this.turns.failure;
  }

  /** Why changes cannot be stored; undefined if they can. */
  get fullBy(): SynclineError | undefined {
    return this.turns.fullBy ?? this.#claimError;
  }

  get epoch(): number {
    return this.#identity?.epoch ?? 0;
  }

  get progress(): LoadProgress | undefined {
    return this.#isLoaded ? undefined : this.#progress;
  }

  /** Client commands that add are refused. */
  get isOutOfMemory(): boolean {
    const { heap } = this.state;
    if (this.memoryBytesMax > 0 && this.state.usedBytes > this.memoryBytesMax) return true;
    return heap.reservedBytes > heap.capacityBytes - HEAP_MARGIN_BYTES;
  }

  /** Checks whose directory it is, before anything is served. Rejects with `conflict` or `corrupt`. */
  async open(): Promise<void> {
    const { files, random } = this.#deps;
    const { nodeId, clusterId } = this.#options;
    if (files === undefined) {
      const epoch = randomBelow(random, EPOCH_MAX + 1);
      this.#identity = { nodeId, clusterId, epoch, state: 'open' };
      return;
    }
    const previous = await openDirectory(files, { nodeId, clusterId });
    if (previous !== undefined) {
      this.#identity = previous;
      return;
    }
    const epoch = chooseEpoch(undefined, nodeId, this.state.version.toVector(), random);
    this.#identity = { nodeId, clusterId, epoch, state: 'open' };
    await writeIdentity(files, this.#identity);
    this.#isClaimed = true;
  }

  /** Reads what is stored; afterwards commands are served. Rejects with `corrupt`. */
  async load(): Promise<void> {
    const { files, clock, logger, metrics } = this.#deps;
    const identity = this.#identity;
    if (identity === undefined) throw new RangeError('open comes before load');
    const startedMs = clock.nowMs();
    let loggedMs = clock.monotonicMs();
    if (files !== undefined) {
      const onProgress = (loadedBytes: number, totalBytes: number) => {
        if (this.#isClosing) throw new SynclineError('closed', 'loading the sets was abandoned');
        this.#progress = { startedMs, loadedBytes, totalBytes };
        if (clock.monotonicMs() - loggedMs < PROGRESS_LOG_MS) return;
        loggedMs = clock.monotonicMs();
        const percent = totalBytes === 0 ? 100 : Math.floor((100 * loadedBytes) / totalBytes);
        logger.info('loading sets', { percent, loadedBytes, totalBytes });
      };
      const { state, turns } = this;
      const limits = this.#limits;
      const keepsOwnOperations = this.replica !== undefined;
      const loadDeps = { state, files, clock, logger, limits, keepsOwnOperations, onProgress };
      const loaded = await load(loadDeps, identity);
      this.log = loaded.log;
      this.#own = loaded.own;
      turns.attach(loaded.log);
      const onFailed = (error: SynclineError) => turns.fail(error);
      const isHeld = () => this.#repairs.isRunning;
      this.checkpoints = new Checkpoints(
        { state, turns, log: loaded.log, files, clock, logger, metrics, limits, isHeld, onFailed },
        identity,
        loaded.checkpoint,
      );
      metrics.add('syncline_sets_operations_total', loaded.replayed, { origin: 'log' });
      metrics.add('syncline_sets_log_cut_bytes_total', loaded.log.cutBytes);
      await this.#claim(files, identity);
    } else {
      await this.#useEpoch(identity);
    }
    this.#isLoaded = true;
    logger.info('sets loaded', {
      epoch: this.epoch,
      elements: this.state.digest.liveDots,
      ms: Math.round(clock.nowMs() - startedMs),
    });
    this.gauges.watch();
    this.checkpoints?.startIfDue();
  }

  /** A load in progress soon rejects with `closed`; by then nothing on disk has changed. */
  abandonLoad(): void {
    this.#isClosing = true;
  }

  /** Refuses writes, stores what is in memory, and marks the stop as clean. */
  async stop(): Promise<void> {
    const { files, logger } = this.#deps;
    this.#isClosing = true;
    const error = new SynclineError('closed', 'server is shutting down');
    this.turns.commitNow();
    this.keyspace.refuseWrites(error);
    if (this.replica !== undefined) await this.replica.stop();
    this.#gate.shut(error);
    this.#claimTimer?.cancel();
    this.gauges.stop();
    try {
      if (files === undefined || this.log === undefined) return;
      await this.checkpoints?.stop();
      await this.log.close();
      if (this.#identity !== undefined && this.#isClaimed && this.failure === undefined)
        await writeIdentity(files, {
          ...this.#identity,
          state: 'clean',
          nextRecord: this.log.nextNumber,
        });
    } catch (thrown) {
      // Nothing is lost: the next start replays the log and takes a new epoch.
      const { message } = SynclineError.from(thrown, 'storage-failed');
      logger.warn('unclean shutdown', { reason: message });
    } finally {
      this.checkpoints?.dispose();
      this.turns.stop();
      this.gauges.report();
    }
  }

  /** The epoch is stored before any dot is made. On a full disk the node serves reads and tries again. */
  async #claim(files: Files, previous: Identity): Promise<void> {
    const { clock, random, logger } = this.#deps;
    const { nodeId, clusterId } = this.#options;
    const version = this.state.version.toVector();
    const epoch = this.#isClaimed ? previous.epoch : chooseEpoch(previous, nodeId, version, random);
    const identity: Identity = { nodeId, clusterId, epoch, state: 'open' };
    try {
      if (!this.#isClaimed) await this.#writeClaim(files, identity);
    } catch (thrown) {
      const error = SynclineError.from(thrown, 'storage-failed');
      if (error.code !== 'storage-full' && error.code !== 'unavailable') throw error;
      if (this.#isClosing) return;
      this.#claimError = error;
      logger.warn('no space to store the epoch; writes are refused', { reason: error.message });
      this.keyspace.refuseWrites(error);
      this.#claimTimer = clock.setTimer(CLAIM_RETRY_MS, () => {
        this.#claim(files, previous).catch((failure: unknown) =>
          this.turns.fail(SynclineError.from(failure, 'storage-failed')),
        );
      });
      return;
    }
    this.#isClaimed = true;
    this.#claimError = undefined;
    await this.#useEpoch(identity);
    if (!this.#isClosing) this.keyspace.refuseWrites(undefined);
  }

  async #writeClaim(files: Files, identity: Identity): Promise<void> {
    try {
      await writeIdentity(files, identity);
    } catch (thrown) {
      const isFull = thrown instanceof SynclineError && thrown.code === 'storage-full';
      if (!isFull || !this.log?.releaseReserve()) throw thrown;
      await writeIdentity(files, identity);
    }
  }

  async #useEpoch(identity: Identity): Promise<void> {
    this.#identity = identity;
    this.state.version.useActor(actorId(identity.nodeId, identity.epoch));
    this.#deps.metrics.set('syncline_sets_epoch', identity.epoch);
    this.#counterAtStart = this.state.version.ownCounter;
    if (this.replica === undefined || this.#isClosing) return;
    // No write may come before peers were asked, so the gate is closed before anything is served.
    const hold = await this.#gate.close(new AbortController().signal);
    const own = this.#own;
    this.#own = [];
    this.replica
      .open(identity.epoch, own, hold)
      .catch((thrown: unknown) => this.turns.fail(SynclineError.from(thrown, 'storage-failed')));
  }

  #createReplica(loop: LoopShare): Replica | undefined {
    const { mesh, clock, random, logger, metrics } = this.#deps;
    if (mesh === undefined || mesh.peers().length === 0) return undefined;
    const { state, turns } = this;
    const raiseEpoch = (seen: VersionVector) => this.#raiseEpoch(seen);
    return new Replica(
      {
        ...{ mesh, state, turns, gate: this.#gate, loop, repairs: this.#repairs },
        ...{ clock, random, logger, metrics, raiseEpoch },
      },
      this.#options,
    );
  }

  /** Peers know dots of this node that it does not know itself: the directory was copied or restored. The gate is closed. */
  async #raiseEpoch(seen: VersionVector): Promise<number> {
    const { files, random } = this.#deps;
    const { version } = this.state;
    const identity = this.#identity;
    if (identity === undefined || version.ownCounter !== this.#counterAtStart)
      throw restoredCopy(identity?.epoch ?? 0);
    const known = version.toVector().merge(seen);
    const epoch = chooseEpoch({ ...identity, state: 'open' }, identity.nodeId, known, random);
    const raised: Identity = { ...identity, epoch, state: 'open' };
    if (files !== undefined) await this.#writeClaim(files, raised);
    this.#identity = raised;
    version.changeActor(actorId(raised.nodeId, epoch));
    this.#counterAtStart = 0;
    this.#deps.metrics.set('syncline_sets_epoch', epoch);
    return epoch;
  }

  #onRepaired(): void {
    this.keyspace.versionMoved();
    this.replica?.repaired();
    this.gauges.report();
    this.checkpoints?.startIfDue();
  }

  #onCommitted(): void {
    this.replica?.turnEnded();
    this.keyspace.versionMoved();
    if (this.gauges.reportIfDue()) this.checkpoints?.startIfDue();
  }

  #onFailed(error: SynclineError): void {
    this.#deps.logger.error('sets failed; writes are refused until a restart', { error });
    this.keyspace.refuseWrites(error);
    this.#gate.shut(error);
    this.checkpoints?.dispose();
    void this.replica?.leave();
    if (error.code === 'conflict') this.#deps.onConflict?.(error);
  }
}
