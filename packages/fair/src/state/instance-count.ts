// How many instances a tracker has, and when its streams are notified: a change at most once a second, since
// instances use the number only to estimate their share of the traffic.
//
// Over a shared store the clients of all services count. Each service reports every two seconds which of them
// are its own, and immediately when one leaves; a client that reconnects elsewhere is counted there.
import { type Clock, type Logger, SynclineError, type Timer } from '@syncline/kernel';
import type { BroadcastHub } from './broadcast-hub.js';
import type { Namespace, SharedTrackers } from './fair-store.js';

const ANNOUNCE_EVERY_MS = 1_000;
const KEEP_ALIVE_EVERY_MS = 2_000;

export interface InstanceCountDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hub: BroadcastHub;
  readonly shared: SharedTrackers | undefined;
}

export class InstanceCount {
  readonly #deps: InstanceCountDeps;
  readonly #namespace: Namespace;
  readonly #clientIds: () => Iterable<string>;
  #announcedAtMs = Number.NEGATIVE_INFINITY;
  #announcedCount = 0;
  #announceTimer: Timer | undefined;
  #keepAliveTimer: Timer | undefined;
  #isClosed = false;

  constructor(deps: InstanceCountDeps, namespace: Namespace, clientIds: () => Iterable<string>) {
    this.#deps = deps;
    this.#namespace = namespace;
    this.#clientIds = clientIds;
  }

  /** Clients came or went. */
  changed(): void {
    const { hub, shared } = this.#deps;
    const ownCount = [...this.#clientIds()].length;
    hub.activeInstances = shared === undefined ? ownCount : Math.max(hub.activeInstances, ownCount);
    this.#announceSoon();
    if (shared !== undefined && this.#keepAliveTimer === undefined) this.#keepAlive(shared);
  }

  left(clientId: string): void {
    const { shared } = this.#deps;
    shared?.left(this.#namespace, clientId).catch((thrown: unknown) => this.#unknown(thrown));
  }

  close(): void {
    this.#isClosed = true;
    this.#announceTimer?.cancel();
    this.#keepAliveTimer?.cancel();
  }

  #announceSoon(): void {
    const { clock, hub } = this.#deps;
    if (this.#announceTimer !== undefined || hub.activeInstances === this.#announcedCount) return;
    const waitMs = Math.max(0, this.#announcedAtMs + ANNOUNCE_EVERY_MS - clock.monotonicMs());
    const announce = () => {
      this.#announceTimer = undefined;
      if (hub.activeInstances === this.#announcedCount) return;
      this.#announcedAtMs = clock.monotonicMs();
      this.#announcedCount = hub.activeInstances;
      hub.announceToAll();
    };
    this.#announceTimer = clock.setTimer(waitMs, announce, { unref: true });
  }

  #keepAlive(shared: SharedTrackers): void {
    const { clock, hub } = this.#deps;
    const again = () => {
      this.#keepAliveTimer = undefined;
      this.#keepAlive(shared);
    };
    const clientIds = [...this.#clientIds()];
    if (this.#isClosed || clientIds.length === 0) return;
    this.#keepAliveTimer = clock.setTimer(KEEP_ALIVE_EVERY_MS, again, { unref: true });
    shared.keepAlive(this.#namespace, clientIds).then(
      (count) => {
        hub.activeInstances = Math.max(count, [...this.#clientIds()].length);
        if (!this.#isClosed) this.#announceSoon();
      },
      (thrown: unknown) => this.#unknown(thrown),
    );
  }

  /** The store is unreachable; the count is requested again, and expires by itself. */
  #unknown(thrown: unknown): void {
    const { message: reason } = SynclineError.from(thrown);
    this.#deps.logger.debug('the instances of other services are unknown', { reason });
  }
}
