// The sets of one node with everything that keeps them: commits, folds, the gate, the cache.
//
// This file only connects them. What each does, and when, stands in its own file.
//
//   commands ─▶ keyspace ─▶ state ─▶ commits ─▶ journal          gate: who may write
//                             │                                  eviction, loader: what is in memory
//                             └────▶ folding ─▶ final keys       sync timer: class buffered
import { abortedError, type Durability, StorageBatch, SynclineError } from '@syncline/kernel';
import { Eviction } from './cache/eviction.js';
import { SetLoader } from './cache/set-loader.js';
import { Commits } from './commit/commits.js';
import { Folding } from './commit/folding.js';
import { encodeIdentity, type IdentityRecord } from './commit/identity-record.js';
import { SyncTimer } from './commit/sync-timer.js';
import { WriteGate } from './commit/write-gate.js';
import type { KeyspaceView } from './keyspace.js';
import { LocalKeyspace } from './local-keyspace.js';
import { createOrderKeys, OrderHash } from './memory/order-hash.js';
import type { SetsDeps } from './sets.js';
import { SetsGauges } from './sets-gauges.js';
import type { SetsState } from './state/sets-state.js';
import { identityKey } from './state/storage-keys.js';
import type { TurnShare } from './turn-share.js';
import { VersionWaiters } from './version-waiters.js';
import { HeadCopies } from './view/head-copies.js';
import { LivePages } from './view/live-pages.js';
import { SnapshotView } from './view/snapshot-view.js';
import { Watches } from './watches.js';

export interface SetsEngineDeps extends SetsDeps {
  readonly state: SetsState;
  readonly turns: TurnShare;
}

export interface SetsEngineOptions {
  readonly identity: IdentityRecord;
  readonly durability: Durability;
  readonly cacheBytesMax: number;
}

export class SetsEngine {
  readonly identity: IdentityRecord;
  readonly keyspace: LocalKeyspace;
  readonly commits: Commits;
  readonly folding: Folding;
  readonly eviction: Eviction;
  readonly #deps: SetsEngineDeps;
  readonly #gate: WriteGate;
  readonly #syncTimer: SyncTimer;
  readonly #gauges: SetsGauges;
  readonly #versionWaiters = new VersionWaiters();
  readonly #hash: OrderHash;
  readonly #headCopies: HeadCopies;
  /** A write has failed, so the storage may be opened anew at any time until one succeeds. */
  #isStorageShaky = false;
  /** The head is being copied. */
  #isPaused = false;
  #isClosing = false;
  #failure: SynclineError | undefined;

  constructor(deps: SetsEngineDeps, options: SetsEngineOptions) {
    const { state, storage, clock, turns, random } = deps;
    this.#deps = deps;
    this.identity = options.identity;
    this.#hash = new OrderHash(createOrderKeys(options.identity.clusterId).order);
    this.commits = new Commits(
      { ...deps, onSettled: (error) => this.#onSettled(error) },
      { durability: options.durability },
    );
    this.folding = new Folding({
      ...deps,
      onFolded: () => this.#onFolded(),
      onFailed: (error) => this.#onFoldFailed(error),
    });
    this.#gate = new WriteGate({
      clock,
      hasRoom: () => this.folding.fill < 1 && !this.#isPaused,
      blockedBy: () => (this.#isPaused ? undefined : this.folding.failure),
      failures: () => ({ count: this.commits.failuresCount, last: this.commits.lastFailure }),
      allSettled: () => this.commits.allSettled(),
    });
    this.#syncTimer = new SyncTimer({
      storage,
      clock,
      onFailed: (error) => this.#onWriteFailed(error),
    });
    this.eviction = new Eviction({ state, turns }, { bytesMax: options.cacheBytesMax });
    this.#gauges = new SetsGauges({
      ...deps,
      memoryBytes: () => this.eviction.bytes,
      operations: () => this.keyspace.operationsCount,
    });
    this.keyspace = new LocalKeyspace({
      state,
      turns,
      random,
      commits: this.commits,
      gate: this.#gate,
      loader: new SetLoader({ state, storage, turns, eviction: this.eviction }),
      pages: new LivePages({ storage, random, hash: this.#hash, registry: state.registry }),
      watches: new Watches(),
      onAdmit: () => this.eviction.check(),
      whenReadable: () => this.#whenReadable(),
      openView: (signal) => this.#openView(signal),
      nextVersion: (signal) => this.#versionWaiters.next(signal),
    });
    this.#headCopies = new HeadCopies({
      ...deps,
      hash: this.#hash,
      commits: this.commits,
      pauseWrites: () => this.#pauseWrites(),
      changesCount: () => this.keyspace.operationsCount + this.commits.failuresCount,
    });
  }

  get state(): SetsState {
    return this.#deps.state;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Why nothing is written any more, until a restart; undefined while all is well. */
  get failure(): SynclineError | undefined {
    return this.#failure;
  }

  /** The disk cannot be trusted: from now on every write is refused. Reads go on where they can. */
  stopWriting(error: SynclineError): void {
    this.#failure ??= error;
    this.keyspace.refuseWrites(error);
    this.#gate.shut(error);
  }

  /**
   * Nothing is written meanwhile, and everything is folded before: a synced record behind one that was
   * only buffered would be lost with it.
   */
  async setDurability(durability: Durability, signal: AbortSignal): Promise<void> {
    if (durability === this.commits.durability) return;
    const hold = await this.#gate.close(signal);
    try {
      await this.folding.foldAll();
      this.commits.durability = durability;
      if (durability === 'synced') this.#syncTimer.stop();
    } finally {
      hold.release();
    }
  }

  /** Refuses writes, waits for those under way, folds, and marks the stop as clean. */
  async stop(): Promise<void> {
    const { storage, logger } = this.#deps;
    this.#isClosing = true;
    const error = new SynclineError('closed', 'server is shutting down');
    this.keyspace.refuseWrites(error);
    this.#gate.shut(error);
    try {
      await this.folding.foldAll();
      const clean = encodeIdentity({ ...this.identity, state: 'clean' });
      const batch = new StorageBatch().put(identityKey, clean);
      this.commits.deleteDoubtful(batch); // the next start must not replay what was refused
      await storage.write(batch, { durability: 'synced' });
    } catch (thrown) {
      // Nothing is lost: the next start replays the journal and takes a new epoch.
      const { message } = SynclineError.from(thrown, 'storage-failed');
      logger.warn('the stop is not clean, the next start takes longer', { reason: message });
    } finally {
      this.dispose();
      this.#gauges.report();
    }
  }

  /** Ends all timers, and nothing else. */
  dispose(): void {
    this.folding.stop();
    this.#syncTimer.stop();
  }

  async #openView(signal: AbortSignal): Promise<KeyspaceView> {
    const isFolded = await this.#foldIfItCan();
    await this.#whenReadable();
    if (signal.aborted) throw abortedError('opening a view', signal);
    if (!isFolded) return this.#headCopies.openView();
    const { storage, random } = this.#deps;
    return new SnapshotView({ storage, random, hash: this.#hash });
  }

  /** False while the disk takes no folds. Until one succeeds, which is tried each second, readers ask for none. */
  async #foldIfItCan(): Promise<boolean> {
    if (this.folding.failure !== undefined) return false;
    try {
      await this.folding.foldAll();
      return true;
    } catch (thrown) {
      if (this.folding.failure === undefined) throw thrown;
      return false;
    }
  }

  #pauseWrites(): () => void {
    this.#isPaused = true;
    return () => {
      this.#isPaused = false;
      const { failure, fill } = this.folding;
      if (failure !== undefined && fill >= 1) this.#gate.refuseWaiting(failure);
      else this.#gate.roomChanged();
    };
  }

  #whenReadable(): Promise<void> | undefined {
    if (!this.#isStorageShaky || this.#deps.storage.health().kind !== 'reopening') return undefined;
    return this.#deps.storage.whenReadable();
  }

  #onSettled(error: SynclineError | undefined): void {
    if (error !== undefined) {
      this.folding.undone();
      this.#onWriteFailed(error);
      this.#gate.roomChanged(); // what was undone has left the head
      return;
    }
    this.#isStorageShaky = false;
    if (this.commits.durability === 'buffered') this.#syncTimer.written();
    this.folding.committed();
    this.#versionWaiters.moved();
    this.eviction.check();
    this.#gauges.reportSometimes();
  }

  #onFolded(): void {
    this.#isStorageShaky = false;
    this.#headCopies.forget();
    this.#gate.roomChanged();
    this.eviction.folded();
    this.#gauges.reportSometimes();
  }

  #onFoldFailed(error: SynclineError): void {
    this.#onWriteFailed(error);
    if (this.folding.fill >= 1) this.#gate.refuseWaiting(error);
  }

  /** A full disk may have room later. Any other failure is final: nobody knows what the disk has kept. */
  #onWriteFailed(error: SynclineError): void {
    this.#isStorageShaky = true;
    if (!error.retryable) this.stopWriting(error);
  }
}
