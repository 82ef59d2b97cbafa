// A store with a ledger beside it: every change that the service makes passes here, is applied to a plain
// model too, and both must then hold the same.
//
// F5   Within an epoch no change is applied twice.
// F14  After a join no cell is below the view.

import type { Applied, CellDeltas, Cells, ChangeId, FairStore, Namespace } from '@syncline/fair';
import type { Clock } from '@syncline/kernel';
import { assert } from '@syncline/kernel';
import { CellModel } from './cell-model.js';
import { checkAppliedAsModelled } from './checks/applied-as-modelled.js';
import type { EachChangeOnce } from './checks/each-change-once.js';
import { checkViewHolds } from './checks/views-hold.js';

export interface WatchedStoreDeps {
  readonly clock: Clock;
  readonly store: FairStore;
  /** Outlives the process: no change may be applied in two epochs, either. */
  readonly changes: EachChangeOnce;
  onApplied(namespace: Namespace, applied: Applied, id: ChangeId | undefined): void;
}

export class WatchedStore implements FairStore {
  readonly #deps: WatchedStoreDeps;
  readonly model = new CellModel();

  constructor(deps: WatchedStoreDeps) {
    this.#deps = deps;
  }

  applyDelta(namespace: Namespace, seed: bigint, deltas: CellDeltas, id?: ChangeId): Applied {
    const { store, changes, onApplied } = this.#deps;
    const nowMs = this.#begin(namespace, seed);
    const applied = atOnce(store.applyDelta(namespace, seed, deltas, id));
    if (applied.result === 'duplicate') return applied;
    if (id !== undefined) changes.applied(namespace.name, seed, id);
    this.model.apply(namespace, seed, deltas, nowMs);
    checkAppliedAsModelled(this.model, namespace, applied, nowMs);
    onApplied(namespace, applied, id);
    return applied;
  }

  joinView(namespace: Namespace, seed: bigint, cells: Cells): Applied {
    const { store, onApplied } = this.#deps;
    const nowMs = this.#begin(namespace, seed);
    const applied = atOnce(store.joinView(namespace, seed, cells));
    this.model.join(namespace, seed, cells, nowMs);
    checkAppliedAsModelled(this.model, namespace, applied, nowMs);
    checkViewHolds(cells, atOnce(store.getSeed(namespace, seed)));
    onApplied(namespace, applied, undefined);
    return applied;
  }

  getSeed(namespace: Namespace, seed: bigint): Cells {
    this.#begin(namespace, seed);
    return atOnce(this.#deps.store.getSeed(namespace, seed));
  }

  evictBefore(namespace: Namespace, seed: bigint): number {
    this.model.forgetBefore(namespace, seed);
    return atOnce(this.#deps.store.evictBefore(namespace, seed));
  }

  seeds(namespace: Namespace) {
    return this.#deps.store.seeds(namespace);
  }

  forget(namespace: Namespace, seed: bigint) {
    this.model.forget(namespace, seed);
    return this.#deps.store.forget(namespace, seed);
  }

  close(): Promise<void> {
    return this.#deps.store.close();
  }

  /** Returns the time that drives decay. */
  #begin(namespace: Namespace, seed: bigint): number {
    const nowMs = this.#deps.clock.monotonicMs();
    const read = () => atOnce(this.#deps.store.getSeed(namespace, seed));
    this.model.begin(namespace, seed, read, nowMs);
    return nowMs;
  }
}

/** The stores of this workload answer synchronously, so that a check sees the state it refers to. */
function atOnce<T>(answer: T | Promise<T>): T {
  assert(!(answer instanceof Promise), 'memory and embedded stores answer at once');
  return answer;
}
