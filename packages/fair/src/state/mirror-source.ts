// Keeps the mirrors of a namespace in sync with its store: the initial content, and changes by other services
// on the same store.
import type { Clock } from '@syncline/kernel';
import type { BroadcastHub } from './broadcast-hub.js';
import {
  type FairStore,
  type MaybePromise,
  type Namespace,
  type SeedInfo,
  whenDone,
} from './fair-store.js';

export interface MirrorSourceDeps {
  readonly clock: Clock;
  readonly store: FairStore;
  readonly hub: BroadcastHub;
}

export class MirrorSource {
  readonly #deps: MirrorSourceDeps;
  readonly #namespace: Namespace;
  readonly #watch: { close(): void } | undefined;
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Subscribes before it reads, so that no change is missed in between. */
  constructor(deps: MirrorSourceDeps, namespace: Namespace) {
    const { store, hub } = deps;
    this.#deps = deps;
    this.#namespace = namespace;
    this.#watch = store.watch?.(namespace, (change) => {
      if (change.startsOver) hub.drop(change.seed);
      if (change.cells.count > 0) hub.feed(change);
    });
  }

  load(): MaybePromise<void> {
    const { store } = this.#deps;
    return whenDone(store.seeds(this.#namespace), (infos) => this.#loadFrom(infos, 0));
  }

  /** What could not be loaded in time is sent to the streams later. */
  async loadLate(): Promise<void> {
    const { store, hub } = this.#deps;
    for (const { seed } of await store.seeds(this.#namespace)) {
      const cells = await store.getSeed(this.#namespace, seed);
      if (!this.#isClosed && cells.count > 0) hub.feed({ result: 'applied', seed, cells });
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
  }

  #loadFrom(infos: readonly SeedInfo[], index: number): MaybePromise<void> {
    const info = infos[index];
    if (info === undefined) {
      this.#deps.hub.measureStore();
      return undefined;
    }
    const { clock, store, hub } = this.#deps;
    return whenDone(store.getSeed(this.#namespace, info.seed), (cells) => {
      const nowMs = clock.monotonicMs();
      const mirror = hub.mirrorOf(info.seed);
      mirror.load(cells, nowMs);
      mirror.changedAtMs = nowMs - info.idleMs;
      return this.#loadFrom(infos, index + 1);
    });
  }
}
