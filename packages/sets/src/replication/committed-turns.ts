// Turns between the log and the peers: what was appended waits here until it is as durable as configured.
//
//   appended ─▶ buffered: sent when the turn is over
//          └──▶ synced: sent when a sync has covered its record; until then the previous version is shown
//
// S5  Nothing is published, acknowledged or shown as a version before it is as durable as configured.
import type { VersionVector } from '@syncline/kernel';
import type { SetsState } from '../engine/sets-state.js';
import type { OperationWriter } from '../operation/operation-writer.js';

/** Our own operations, with consecutive counters. */
export interface OwnOperations {
  /** An Operations message. */
  readonly encoded: Uint8Array;
  readonly base: number;
  readonly last: number;
}

interface AppendedTurn {
  /** The record that must be synced; 0: none. */
  readonly number: number;
  readonly own: OwnOperations | undefined;
  readonly hasForeign: boolean;
  /** What was applied with it, if it waits for a sync. */
  readonly version: VersionVector | undefined;
}

export interface CommittedTurnsDeps {
  readonly state: SetsState;
  publish(own: OwnOperations): void;
  /** Operations of peers may be acknowledged. */
  acknowledge(): void;
}

export class CommittedTurns {
  readonly #deps: CommittedTurnsDeps;
  /** Oldest first. */
  readonly #waiting: AppendedTurn[] = [];
  /** What may be shown while turns wait. */
  #durable: VersionVector | undefined;
  /** The last own counter that was appended. */
  #ownCounter = 0;

  constructor(deps: CommittedTurnsDeps) {
    this.#deps = deps;
  }

  /** From now on our own operations follow this counter. */
  startAfter(ownCounter: number): void {
    this.#ownCounter = ownCounter;
  }

  version(): VersionVector {
    return this.#waiting.length > 0 && this.#durable !== undefined
      ? this.#durable.copy()
      : this.#deps.state.settledVersion();
  }

  /** The record is in the log, and the turn is not settled yet. */
  appended(record: OperationWriter, number: number): void {
    const { state } = this.#deps;
    const base = this.#ownCounter + 1;
    const last = state.version.ownCounter;
    this.#ownCounter = last;
    if (this.#waiting.length === 0) this.#durable = undefined;
    if (number > 0) this.#durable ??= state.settledVersion(); // of the turn before
    this.#waiting.push({
      number,
      own: last < base ? undefined : { encoded: record.ownBytes(), base, last },
      hasForeign: record.hasForeign,
      version: number > 0 ? state.version.toVector() : undefined,
    });
  }

  /** Everything up to this record is synced; with 0, what does not need a sync is sent. */
  synced(number: number): void {
    let hasForeign = false;
    while (this.#waiting[0] !== undefined && this.#waiting[0].number <= number) {
      const { own, version, hasForeign: isForeign } = this.#waiting[0];
      this.#waiting.shift();
      hasForeign ||= isForeign;
      if (version !== undefined) this.#durable = version;
      if (own !== undefined) this.#deps.publish(own);
    }
    if (hasForeign) this.#deps.acknowledge();
  }
}
