// Whether pushes deliver everything, so that the periodic pull can be skipped.
//
// Under load versions always differ, and a pull between nodes whose versions differ walks every element on both
// sides. So a node that has applied something since the last check first asks its peers for their versions: if it
// soon has everything they had, it has missed nothing. Digests can only be compared at equal versions, which an idle
// node does.
import type { Clock, VersionVector } from '@syncline/kernel';
import type { MeshChannel } from '@syncline/mesh';
import type { Turns } from '../engine/turns.js';

/** What was in flight when the peers answered arrives within this time, or is missing. */
const ARRIVAL_MS = 2_000;
const POLL_MS = 50;

export interface PushCheckDeps {
  readonly clock: Clock;
  readonly turns: Pick<Turns, 'operationsCount' | 'foreignCount'>;
  /** The version that is applied here. */
  version(): VersionVector;
  channel(): Pick<MeshChannel, 'askVersions' | 'connectedPeers'>;
}

export class PushCheck {
  readonly #deps: PushCheckDeps;
  #checkedCount = 0;
  #running: AbortController | undefined;
  #isCancelled = false;

  constructor(deps: PushCheckDeps) {
    this.#deps = deps;
  }

  /** True if this node soon has everything its peers had, or after `cancel`. False after an idle time. */
  async deliverEverything(): Promise<boolean> {
    const { operationsCount, foreignCount } = this.#deps.turns;
    const isIdle = operationsCount + foreignCount === this.#checkedCount;
    this.#checkedCount = operationsCount + foreignCount;
    if (isIdle) return false;
    const stop = new AbortController();
    this.#running = stop;
    this.#isCancelled = false;
    const timer = this.#deps.clock.setTimer(ARRIVAL_MS, () => stop.abort());
    try {
      return (await this.#reachesPeerVersions(stop.signal)) || this.#isCancelled;
    } finally {
      timer.cancel();
      this.#running = undefined;
    }
  }

  /** Another pull is due at once, and makes this one unnecessary. */
  cancel(): void {
    this.#isCancelled = true;
    this.#running?.abort();
  }

  async #reachesPeerVersions(signal: AbortSignal): Promise<boolean> {
    const { clock, version, channel } = this.#deps;
    const peersCount = channel().connectedPeers().length;
    const versions = await channel().askVersions(peersCount, signal);
    if (versions.length < peersCount) return false;
    for (; !signal.aborted; ) {
      const own = version();
      if (versions.every((other) => own.dominates(other))) return true;
      await new Promise<void>((resolve) => void clock.setTimer(POLL_MS, resolve));
    }
    return false;
  }
}
