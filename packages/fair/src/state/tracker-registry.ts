// The named trackers of a service. The first hello binds a name to a configuration; the name is free again
// after three windows without a stream, or immediately if it holds no cells and another name needs its place.
// With a shared store, the store keeps the binding and the epoch.
import { type Random, SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { Hello } from '../wire/sync-messages.js';
import { type MaybePromise, whenDone } from './fair-store.js';
import { compareConfigs } from './hello-checks.js';
import { createCellBudget, NamedTracker } from './named-tracker.js';
import { sweepIntervalMs } from './seed-age.js';
import { type NamespaceDeps, type StateSettings, TrackerLabels } from './state-options.js';

/** Above every seed: all of a tracker's seeds are before it. */
const SEEDS_END = 2n ** 64n;

export class TrackerRegistry {
  readonly #deps: NamespaceDeps;
  readonly #settings: StateSettings;
  readonly #trackers = new Map<string, NamedTracker>();
  readonly labels = new TrackerLabels();
  readonly #budget = createCellBudget(() => this.#heldCount());

  constructor(deps: NamespaceDeps, settings: StateSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  get trackers(): ReadonlyMap<string, NamedTracker> {
    return this.#trackers;
  }

  /** The tracker to join, when it is ready. Throws, or rejects, `conflict` or `limit-exceeded`. */
  greet(hello: Hello): MaybePromise<NamedTracker> {
    const bound = this.#trackers.get(hello.tracker);
    if (bound !== undefined) compareConfigs(hello.tracker, bound.config, hello.config);
    else this.#checkRoom(hello.tracker);
    const tracker = bound ?? this.#bind(hello);
    const { shared } = this.#deps.store;
    if (shared === undefined) return whenDone(tracker.ready, () => tracker);
    return this.#greetShared(tracker, hello);
  }

  /** Forgets the trackers here; the store keeps its content. Their streams have already ended. */
  close(): void {
    for (const tracker of this.#trackers.values()) tracker.close();
    this.#trackers.clear();
  }

  async #greetShared(tracker: NamedTracker, hello: Hello): Promise<NamedTracker> {
    const { shared } = this.#deps.store;
    try {
      const greeted = await shared?.greet(tracker.namespace, hello.config);
      await tracker.ready;
      if (this.#trackers.get(hello.tracker) !== tracker) throw goneError(hello.tracker);
      if (greeted !== undefined) tracker.hub.epoch = greeted.epoch;
      return tracker;
    } catch (thrown) {
      if (tracker.hub.streamsCount === 0) this.#unbind(tracker);
      throw thrown;
    }
  }

  #checkRoom(name: string): void {
    const { value: trackersMax } = fairLimits.trackersMax;
    if (this.#trackers.size < trackersMax) return;
    const unused = [...this.#trackers.values()].find((tracker) => tracker.isUnused);
    if (unused !== undefined) {
      this.#unbind(unused);
      return;
    }
    throw new SynclineError(
      'limit-exceeded',
      `the tracker "${name}" cannot be added: this service is limited to ${trackersMax} trackers. A tracker without streams is dropped along with its last cells, after 3 windows.`,
      { details: { limit: 'trackersMax', limitValue: trackersMax } },
    );
  }

  #bind(hello: Hello): NamedTracker {
    const label = this.labels.labelOf(hello.tracker);
    const epoch = drawEpoch(this.#deps.random);
    const options = { settings: this.#settings, label, epoch, budget: this.#budget };
    const tracker = new NamedTracker(this.#deps, hello, options);
    this.#trackers.set(hello.tracker, tracker);
    this.#armSweep(tracker);
    return tracker;
  }

  /** A shared store keeps the cells for others, and lets them expire by itself. */
  #unbind(tracker: NamedTracker): void {
    const { store } = this.#deps;
    const { name } = tracker.namespace;
    if (this.#trackers.get(name) !== tracker) return; // already closed; the name may belong to another tracker now
    tracker.close();
    this.#trackers.delete(name);
    if (store.shared === undefined)
      this.#watchFailure(store.evictBefore(tracker.namespace, SEEDS_END));
  }

  #armSweep(tracker: NamedTracker): void {
    const intervalMs = sweepIntervalMs(tracker.config.windowMs);
    const sweep = () => {
      if (tracker.isIdle) {
        this.#unbind(tracker);
        return;
      }
      this.#watchFailure(tracker.sweep());
      this.#armSweep(tracker);
    };
    tracker.sweepTimer = this.#deps.clock.setTimer(intervalMs, sweep, { unref: true });
  }

  #heldCount(): number {
    let count = 0;
    for (const { hub } of this.#trackers.values())
      for (const mirror of hub.mirrors.values()) count += mirror.heldCount;
    return count;
  }

  #watchFailure(swept: MaybePromise<unknown>): void {
    if (!(swept instanceof Promise)) return;
    swept.catch((thrown: unknown) => {
      const { message: reason } = SynclineError.from(thrown);
      this.#deps.logger.warn('old seeds could not be removed from the store', { reason });
    });
  }
}

/** While a hello waited for the store, another one failed or the store was lost. */
function goneError(tracker: string): SynclineError {
  return new SynclineError('unavailable', `the tracker "${tracker}" was dropped. Reconnect.`);
}

/** Random, so that a restart is detected; never 0, which means none. */
function drawEpoch(random: Random): number {
  for (;;) {
    const epoch = (random.u32() >>> 11) * 2 ** 32 + random.u32();
    if (epoch !== 0) return epoch;
  }
}
