// This node as its peers see it: applies their operations in its turns, sends them its own operations once these are
// as durable as configured, and repairs what was missed.
//
//   mesh ─▶ deliver ─▶ the turn's record, with the bytes as received ─▶ log ─▶ acknowledgement
//   own operations ─▶ log ─▶ publish                     pulls ─▶ repairs ─▶ log ─▶ memory
//
// S5   Nothing is published, acknowledged or shown as a version before it is as durable as configured.
// S30  Operations of peers are part of the turn: one that cannot be stored is undone and not acknowledged.
import {
  type ActorId,
  assert,
  type Clock,
  formatActor,
  type Logger,
  type Metrics,
  type Random,
  SynclineError,
  type Timer,
  type VersionVector,
} from '@syncline/kernel';
import type {
  ChannelHandler,
  DeliveredOperation,
  Mesh,
  MeshChannel,
  PeerStatus,
  PullReason,
} from '@syncline/mesh';
import { applyOperation } from '../engine/operations.js';
import type { SetsState } from '../engine/sets-state.js';
import type { LoopShare, TurnFollower, Turns } from '../engine/turns.js';
import type { WriteGate } from '../engine/write-gate.js';
import type { WriteHold } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import { type Operation, OperationReader } from '../operation/decode-operations.js';
import type { OperationWriter } from '../operation/operation-writer.js';
import { CommittedTurns, type OwnOperations } from './committed-turns.js';
import { type PullLimits, pullLimits } from './pull-limits.js';
import { decodePull, encodePull, MessageKind, type PullMessage } from './pull-messages.js';
import { Pulls } from './pulls.js';
import type { Repairs } from './repairs.js';
import { ServedPulls } from './served-pulls.js';
import { warnOfManyEpochs } from './version-size.js';

/** How soon an operation of a peer that hit a full disk is tried again. */
const FULL_RETRY_MS = 1_000;

export interface ReplicaDeps {
  readonly mesh: Mesh;
  readonly state: SetsState;
  readonly turns: Turns;
  readonly gate: WriteGate;
  readonly loop: LoopShare;
  readonly repairs: Repairs;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /**
   * A peer has more operations of our actor than we do: stores and uses a new epoch. The gate is closed in the
   * meantime.
   */
  raiseEpoch(seen: VersionVector): Promise<number>;
}

export interface ReplicaOptions {
  readonly nodeId: number;
  readonly startupDelayMs?: number | undefined;
  readonly pullIntervalMs?: number | undefined;
  readonly pullLimits?: Partial<PullLimits> | undefined;
}

export class Replica implements ChannelHandler, TurnFollower {
  readonly #deps: ReplicaDeps;
  readonly #options: ReplicaOptions;
  readonly #channel: MeshChannel;
  readonly #pulls: Pulls;
  readonly #served: ServedPulls;
  readonly #turns: CommittedTurns;
  readonly #reader = new OperationReader('invalid-argument');
  #isOpen = false;
  /** Peers have not been asked yet, and the gate is closed for that. */
  #isStarting = true;
  /** The gate lets operations of peers through in this call. */
  #isAdmitted = false;
  #isWaitingForGate = false;
  #resuming: Timer | undefined;
  /** While no peer is connected and none was pulled from. */
  #waitingAlone: Timer | undefined;
  #isCaughtUp = false;
  /** The operations of our actor that peers have and we do not. */
  #ahead: VersionVector | undefined;

  constructor(deps: ReplicaDeps, options: ReplicaOptions) {
    this.#deps = deps;
    this.#options = options;
    const limits = { ...pullLimits, ...options.pullLimits };
    const send = (peer: number, message: PullMessage) => this.#send(peer, message);
    const { repairs, gate } = deps;
    this.#served = new ServedPulls({
      ...deps,
      limits,
      send,
      isBusy: () => repairs.isLoading || !this.#isOpen,
      whenWhole: () => gate.whenWhole(),
    });
    this.#pulls = new Pulls(
      {
        ...deps,
        limits,
        send,
        channel: () => this.#channel,
        yieldToPeers: () => this.#yieldToPeers(),
        knowsOurLostWrites: (version) => this.#knowsOurLostWrites(version),
      },
      { intervalMs: options.pullIntervalMs ?? setsLimits.pullIntervalMs.value },
    );
    this.#channel = deps.mesh.channel('sets', this);
    this.#turns = new CommittedTurns({
      state: deps.state,
      publish: ({ encoded, base, last }) => this.#channel.publish(encoded, base, last),
      acknowledge: () => this.#channel.committed(),
    });
    deps.turns.follow(this);
  }

  /**
   * Joins the mesh. Resolves when writes may start: peers were asked what they have of our operations. `hold` is
   * released.
   */
  async open(epoch: number, own: readonly OwnOperations[], hold: WriteHold): Promise<void> {
    const { mesh, clock, state, logger } = this.#deps;
    this.#isOpen = true;
    warnOfManyEpochs(state.version.toVector(), logger);
    this.#turns.startAfter(state.version.ownCounter);
    for (const { encoded, base, last } of own) this.#channel.publish(encoded, base, last);
    mesh.open(epoch);
    this.#waitAlone();
    const stop = new AbortController();
    const { startupDelayMs = setsLimits.startupDelayMs.value } = this.#options;
    const timer = clock.setTimer(startupDelayMs, () => stop.abort());
    try {
      await mesh.firstContact(stop.signal);
      if (this.#ahead !== undefined) await this.#raiseEpoch(this.#ahead);
    } finally {
      timer.cancel();
      this.#isStarting = false;
      hold.release();
    }
  }

  /** Accepts no more operations and ends pulls. Resolves when nothing is running any more. */
  async stop(): Promise<void> {
    this.#isOpen = false;
    this.#resuming?.cancel();
    this.#waitingAlone?.cancel();
    this.#served.endAll();
    await this.#pulls.stop();
  }

  /** The disk has failed: peers must not rely on this node. */
  async leave(): Promise<void> {
    await this.stop();
    await this.#deps.mesh.close().catch(() => undefined); // no one relies on a goodbye
  }

  get channel(): MeshChannel {
    return this.#channel;
  }

  /** It has compared itself with a peer since the start, or has waited long enough for one to come up. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp || this.#pulls.isCaughtUp;
  }

  get pulls(): Pick<Pulls, 'divergedPeers' | 'failure' | 'counts'> {
    return this.#pulls;
  }

  peers(): readonly PeerStatus[] {
    return this.#deps.mesh.peers();
  }

  /** A read is waiting for something that has not arrived yet. */
  pullForRead(): void {
    this.#pulls.requestAny('read');
  }

  appliedCounter(actor: ActorId): number {
    return this.#deps.state.version.counterOf(actor);
  }

  version(): VersionVector {
    return this.#turns.version();
  }

  deliver(delivered: DeliveredOperation): 'taken' | 'wait' {
    const { state, turns, gate, repairs } = this.#deps;
    if (!this.#isOpen || turns.failure !== undefined) return 'wait';
    if (repairs.isLoading || (gate.isClosed && !this.#isAdmitted)) {
      this.#waitForGate();
      return 'wait';
    }
    const operation = this.#read(delivered);
    const addsMembers = hasAdds(operation);
    try {
      for (const _ of applyOperation(state, operation));
    } catch (thrown) {
      this.#failForLackOfMemory(delivered, thrown);
      return 'wait';
    }
    state.record.addForeign(delivered, addsMembers);
    try {
      turns.foreignEnded();
    } catch (thrown) {
      assert(thrown instanceof SynclineError, 'an operation that is not stored says why');
      this.#resumeLater();
      return 'wait';
    }
    return 'taken';
  }

  message(peer: number, kind: number, body: Uint8Array): void {
    if (!this.#isOpen) return;
    const message = decodePull(kind, body.slice());
    if (message.kind === 'open') this.#served.open(peer, message);
    else if (message.kind === 'more') this.#served.more(peer, message);
    else if (message.kind === 'done') this.#served.done(peer, message);
    else {
      this.#pulls.countBytes(peer, body.length);
      this.#pulls.receive(peer, message);
    }
  }

  peerUp(peer: number, version: VersionVector): void {
    this.#waitingAlone?.cancel();
    if (!this.#isOpen || this.#knowsOurLostWrites(version)) return;
    this.#pulls.peerUp(peer);
  }

  peerDown(peer: number): void {
    this.#pulls.peerDown(peer);
    this.#served.peerDown(peer);
    if (this.#isOpen && this.#channel.connectedPeers().length === 0) this.#waitAlone();
  }

  pullWanted(peer: number, reason: PullReason): void {
    if (this.#isOpen) this.#pulls.request(peer, reason);
  }

  appended(record: OperationWriter, number: number): void {
    this.#turns.appended(record, number);
  }

  /** The turn is over: what does not need to wait for a sync is sent. */
  turnEnded(): void {
    this.#turns.synced(0);
  }

  synced(number: number): void {
    this.#turns.synced(number);
  }

  undone(record: OperationWriter): void {
    if (record.hasForeign && this.#isOpen) this.#pulls.requestAny('gap');
  }

  /** A repair has moved the version. */
  repaired(): void {
    this.#channel.committed();
    this.#channel.resume();
  }

  #waitAlone(): void {
    this.#waitingAlone?.cancel();
    if (this.isCaughtUp) return;
    const { clock, logger } = this.#deps;
    const waitMs = setsLimits.firstPullWaitMs.value;
    const giveUp = () => {
      this.#isCaughtUp = true;
      logger.warn('no peer reachable; serving local data', { waitMs });
    };
    this.#waitingAlone = clock.setTimer(waitMs, giveUp, { unref: true });
  }

  #send(peer: number, message: PullMessage): boolean {
    const body = encodePull(message);
    const { kind } = message;
    this.#deps.metrics.add('syncline_sets_pull_bytes_total', body.length, { kind });
    if (kind === 'open' || kind === 'more' || kind === 'done')
      this.#pulls.countBytes(peer, body.length);
    return this.#channel.send(peer, MessageKind[kind], body);
  }

  /** Valid until the next one is read. */
  #read({ actor, base, count, bytes, start, end }: DeliveredOperation): Operation {
    const reader = this.#reader;
    reader.open(bytes, start);
    if (!reader.next()) {
      throw new SynclineError('invalid-argument', 'malformed operation: it is empty');
    }
    const isWhole = reader.end === end && reader.count === count;
    assert(
      isWhole && reader.actor === actor && reader.base === base,
      'the mesh and the sets read the same operation',
    );
    return reader;
  }

  #resumeLater(): void {
    this.#resuming ??= this.#deps.clock.setTimer(FULL_RETRY_MS, () => {
      this.#resuming = undefined;
      this.#channel.resume();
    });
  }

  /** Memory is not sufficient for an operation, which is half applied: the node must stop. */
  #failForLackOfMemory(delivered: DeliveredOperation, thrown: unknown): void {
    const { state, turns } = this.#deps;
    if (!(thrown instanceof SynclineError) || thrown.code !== 'limit-exceeded') throw thrown;
    state.record.addForeign(delivered, true);
    turns.fail(thrown);
    turns.commitNow(); // undoes it
  }

  /** Operations of peers wait like other writers, and continue together. */
  #waitForGate(): void {
    if (this.#isWaitingForGate) return;
    const admitted = this.#deps.gate.admit() ?? Promise.resolve();
    this.#isWaitingForGate = true;
    const resume = (isAdmitted: boolean) => {
      this.#isWaitingForGate = false;
      this.#isAdmitted = isAdmitted;
      if (isAdmitted) this.#channel.resume();
      this.#isAdmitted = false;
    };
    admitted.then(
      () => resume(true),
      () => resume(false),
    );
  }

  /** Nodes that load wait for each other in the order of their ids, so never in a circle. */
  #yieldToPeers(): boolean {
    const { nodeId } = this.#options;
    if (this.#served.peers.some((peer) => peer < nodeId)) return false;
    this.#served.endAll();
    return true;
  }

  #knowsOurLostWrites(version: VersionVector): boolean {
    const { state } = this.#deps;
    const { own, ownCounter } = state.version;
    if (version.counterOf(own) <= ownCounter) return false;
    const isFirst = this.#ahead === undefined;
    this.#ahead = (this.#ahead ?? state.version.toVector()).copy().merge(version);
    if (isFirst && !this.#isStarting) this.#raiseLater().catch(() => undefined); // the gate is shut
    return true;
  }

  async #raiseLater(): Promise<void> {
    const hold = await this.#deps.gate.close(new AbortController().signal);
    try {
      if (this.#ahead !== undefined) await this.#raiseEpoch(this.#ahead);
    } finally {
      hold.release();
    }
  }

  async #raiseEpoch(seen: VersionVector): Promise<void> {
    const { logger, mesh, state, turns } = this.#deps;
    const before = formatActor(state.version.own);
    try {
      const epoch = await this.#deps.raiseEpoch(seen);
      logger.warn('peers have operations of this node that its disk lacks; starting a new epoch', {
        before,
        epoch,
      });
      this.#turns.startAfter(0);
      this.#ahead = undefined;
      mesh.changeEpoch(epoch);
    } catch (thrown) {
      turns.fail(SynclineError.from(thrown, 'storage-failed'));
    }
  }
}

function hasAdds(operation: Operation): boolean {
  for (let member = 0; member < operation.members.length; member += 1)
    if (operation.counterOf(member) > 0) return true;
  return false;
}
