// Group commit: the changes of one turn of the event loop become one record of the log.
//
//   commands change memory ─▶ end of the turn: one append ─▶ replies leave (buffered)
//                                   │                    └─▶ replies wait for a sync (synced)
//                                   └─ no room: the turn is undone, its replies become errors
//
// Nothing is sent before the append has returned: every session with replies joins the turn and is notified of its
// outcome. While the disk is full each operation is a separate turn, so that reads and other commands are not refused
// with it; only in the turn that found the disk full, reads after its first change are refused as well.
//
// S5  Nothing is sent before its turn is as durable as configured.
// S7  After a failed append memory is as it was before the turn.
import {
  assert,
  type Clock,
  type Durability,
  type Metrics,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import type { SegmentLog } from '@syncline/kernel/node';
import { setsLimits } from '../limits.js';
import type { OperationWriter } from '../operation/operation-writer.js';
import type { LocalOperation } from './local-changes.js';
import type { SetsState } from './sets-state.js';

/** What a record of the log holds. */
export const RecordKind = {
  operations: 1,
  /** A part of a repair, which only counts once the end of the repair is in the log. */
  repair: 2,
  repairEnd: 3,
} as const;

/** Replication: is notified of what reaches the log, and of when it may be sent. */
export interface TurnFollower {
  /**
   * The record of a turn is in the log. It may be sent at once if `number` is 0, otherwise once `synced` has reached
   * it.
   */
  appended(record: OperationWriter, number: number): void;
  synced(number: number): void;
  /** A turn was undone; `record` holds what it had made or applied. */
  undone(record: OperationWriter): void;
}

/** Has replies that wait for the end of the turn. */
export interface TurnMember {
  /**
   * With an error the turn was undone: replies since its first change are refused. Otherwise the replies may be sent,
   * at once if `number` is 0, else once `turnsSynced` has reached it.
   */
  turnEnded(error: SynclineError | undefined, number: number): void;
  /** False if it waits for a higher number. */
  turnsSynced(number: number): boolean;
  /** A sync failed: what waits is refused, since it is unknown what the disk has kept. */
  turnsFailed(error: SynclineError): void;
}

export type TurnLog = Pick<
  SegmentLog,
  'append' | 'sync' | 'nextNumber' | 'syncedThrough' | 'fullBy'
>;

export interface TurnsDeps {
  readonly state: SetsState;
  readonly operation: LocalOperation;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Called after each turn that has changed something. */
  onCommitted(): void;
  /** The disk can no longer be trusted. */
  onFailed(error: SynclineError): void;
}

export class Turns {
  durability: Durability;
  readonly #deps: TurnsDeps;
  /** Without a log nothing is stored, and everything is lost when the process ends. */
  #log: TurnLog | undefined;
  #members: TurnMember[] = [];
  readonly #waitingForSync = new Set<TurnMember>();
  #isPlanned = false;
  #isSyncing = false;
  #isStopped = false;
  #syncTimer: Timer | undefined;
  /** Why the next append may find the disk full: the last one did, or removes have used the space reserved for them. */
  fullBy: SynclineError | undefined;
  failure: SynclineError | undefined;
  #operationsCount = 0;
  #foreignCount = 0;
  /** Operations of this turn: those made here, and those of peers. */
  #turnOperations = 0;
  #turnForeign = 0;
  #follower: TurnFollower | undefined;

  constructor(deps: TurnsDeps, durability: Durability) {
    this.#deps = deps;
    this.durability = durability;
  }

  /** From now on turns are stored. */
  attach(log: TurnLog): void {
    this.#log = log;
  }

  follow(follower: TurnFollower): void {
    this.#follower = follower;
  }

  /** Whether this turn has changed something that is not in the log. */
  get hasChanges(): boolean {
    return this.#deps.state.record.size > 0;
  }

  /** Something else was appended: there is space again. */
  spaceAvailable(): void {
    this.fullBy = this.#log?.fullBy;
  }

  /** Operations made here since the start, without those that were undone. */
  get operationsCount(): number {
    return this.#operationsCount + this.#turnOperations;
  }

  /** Operations of peers that were applied since the start. */
  get foreignCount(): number {
    return this.#foreignCount + this.#turnForeign;
  }

  join(member: TurnMember): void {
    this.#members.push(member);
    this.#plan();
  }

  /** Called after each operation. Throws if it had to be stored at once and could not be: then it is undone. */
  operationEnded(): void {
    this.#turnOperations += 1;
    this.#gather();
  }

  /** Called after each operation of a peer. Throws as `operationEnded` does. */
  foreignEnded(): void {
    this.#turnForeign += 1;
    this.#gather();
  }

  #gather(): void {
    const isLarge = this.#deps.state.record.size >= setsLimits.turnRecordBytesMax.value;
    if (this.fullBy === undefined && !isLarge) {
      this.#plan();
      return;
    }
    const error = this.commitNow();
    if (error !== undefined) throw error;
  }

  /**
   * Ends the turn early: afterwards everything in memory is in the log. Returns why the changes were undone, if they
   * were.
   */
  commitNow(): SynclineError | undefined {
    assert(!this.#deps.operation.isRunning, 'a turn ends between operations');
    const log = this.#log;
    const error = this.hasChanges ? this.#append() : undefined;
    const number = this.durability === 'synced' && log !== undefined ? log.nextNumber - 1 : 0;
    const waitsFor = log !== undefined && number > log.syncedThrough ? number : 0;
    if (this.#members.length > 0) {
      const members = this.#members;
      this.#members = [];
      for (const member of members) {
        if (waitsFor > 0 && this.failure === undefined) this.#waitingForSync.add(member);
        member.turnEnded(error, waitsFor);
        if (waitsFor > 0 && this.failure !== undefined) member.turnsFailed(this.failure);
      }
    }
    if (waitsFor > 0) this.#sync();
    return error;
  }

  /** Resolves when all changes up to now are as durable as configured. Rejects when they were undone. */
  settled(): Promise<void> {
    const hasChanges = this.hasChanges; // otherwise an undone turn does not matter: it was changed later
    return new Promise((resolve, reject) => {
      let waitsFor = 0;
      this.join({
        turnEnded: (error, number) => {
          waitsFor = number;
          if (error !== undefined && hasChanges) reject(error);
          else if (number === 0) resolve();
        },
        turnsSynced: (number) => {
          if (number < waitsFor) return false;
          resolve();
          return true;
        },
        turnsFailed: reject,
      });
    });
  }

  /** The disk can no longer be trusted. Nothing is written from now on. */
  fail(error: SynclineError): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    this.stop();
    const waiting = [...this.#waitingForSync];
    this.#waitingForSync.clear();
    this.#deps.onFailed(error);
    for (const member of waiting) member.turnsFailed(error);
  }

  /** Stops the timer: no more syncs are scheduled. */
  stop(): void {
    this.#isStopped = true;
    this.#syncTimer?.cancel();
    this.#syncTimer = undefined;
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#deps.clock.defer(this.#end);
  }

  readonly #end = (): void => {
    this.#isPlanned = false;
    this.commitNow();
  };

  #append(): SynclineError | undefined {
    const { state, clock, metrics } = this.#deps;
    const log = this.#log;
    const { record } = state;
    if (this.failure !== undefined) return this.#undo(this.failure);
    if (log !== undefined) {
      const startMs = clock.monotonicMs();
      try {
        // A turn that only removes may use the space that is reserved for it.
        log.append(RecordKind.operations, [record.bytes()], { useReserve: !record.hasAdds });
      } catch (thrown) {
        return this.#undo(SynclineError.from(thrown, 'storage-failed'));
      }
      metrics.observe('syncline_sets_log_append_seconds', (clock.monotonicMs() - startMs) / 1000);
      if (this.durability === 'buffered') this.#planSync();
    }
    this.fullBy = log?.fullBy;
    this.#operationsCount += this.#turnOperations;
    this.#foreignCount += this.#turnForeign;
    this.#turnOperations = this.#turnForeign = 0;
    const waitsFor = this.durability === 'synced' && log !== undefined ? log.nextNumber - 1 : 0;
    this.#follower?.appended(record, waitsFor);
    record.clear();
    state.settleTurn();
    this.#deps.onCommitted();
    return undefined;
  }

  #undo(error: SynclineError): SynclineError {
    this.#follower?.undone(this.#deps.state.record);
    this.#deps.state.undoTurn();
    this.#turnOperations = this.#turnForeign = 0;
    const isTemporary = error.code === 'storage-full' || error.code === 'unavailable';
    if (isTemporary) this.fullBy = error;
    else this.fail(error);
    return error;
  }

  #planSync(): void {
    if (this.#isStopped || this.failure !== undefined) return;
    this.#syncTimer ??= this.#deps.clock.setTimer(setsLimits.syncIntervalMs.value, () => {
      this.#syncTimer = undefined;
      this.#sync();
    });
  }

  /** One at a time. What was appended in the meantime is covered by the next one. */
  #sync(): void {
    if (this.#isSyncing || this.failure !== undefined) return;
    this.#isSyncing = true;
    void this.#syncOnce();
  }

  async #syncOnce(): Promise<void> {
    const { clock, metrics } = this.#deps;
    const log = this.#log;
    assert(log !== undefined, 'only a log is synced');
    const startMs = clock.monotonicMs();
    try {
      await log.sync();
    } catch (thrown) {
      this.#isSyncing = false;
      const error = SynclineError.from(thrown, 'storage-failed');
      if (error.code === 'unavailable')
        this.#planSync(); // no file descriptor: nothing is lost
      else this.fail(error);
      return;
    }
    metrics.observe('syncline_sets_log_sync_seconds', (clock.monotonicMs() - startMs) / 1000);
    this.#isSyncing = false;
    this.#follower?.synced(log.syncedThrough);
    for (const member of this.#waitingForSync)
      if (member.turnsSynced(log.syncedThrough)) this.#waitingForSync.delete(member);
    if (log.syncedThrough >= log.nextNumber - 1) return;
    if (this.#waitingForSync.size > 0 || this.durability === 'synced') this.#sync();
    else this.#planSync();
  }
}

/**
 * Lets long work continue in slices, one worker per turn: however many long commands run, together they hold the
 * event loop for one slice per turn. Workers take their turns in the order in which they asked.
 */
export class LoopShare {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #sliceStartMs = Number.NEGATIVE_INFINITY;
  #isPlanned = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined while the slice has time left; otherwise wait for the next one. */
  yieldIfOverBudget(): Promise<void> | undefined {
    const usedMs = this.#clock.monotonicMs() - this.#sliceStartMs;
    if (usedMs < setsLimits.turnTimeMs.value) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#clock.defer(() => {
      this.#isPlanned = false;
      this.#sliceStartMs = this.#clock.monotonicMs();
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#plan();
    });
  }
}
