// The original contract, for clients that never send a hello: deltas are summed and clamped, the highest time is
// kept, nothing decays, and every touched bucket is sent to every stream, including the sender's and silent ones.
// Clients overwrite blindly, so a delta that is sent twice counts twice.
//
// F11  No answer names an evicted seed; its deltas are dropped and counted.
// F12  A client of the original contract sees exactly this, and no unknown field.
import { SynclineError, type Timer } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { SyncRequest } from '../wire/sync-messages.js';
import { BroadcastHub } from './broadcast-hub.js';
import { type MaybePromise, type Namespace, whenDone } from './fair-store.js';
import { checkDefaultDeltas } from './input-checks.js';
import { MirrorSource } from './mirror-source.js';
import { defaultSeedAge, LIVE_WINDOWS, sweepIntervalMs } from './seed-age.js';
import { DEFAULT_LABEL, type NamespaceDeps, type StateSettings } from './state-options.js';
import type { StreamOutbox } from './stream-outbox.js';

/** Used after the stored state could not be loaded. */
const LOAD_AGAIN_MS = 1_000;

const labels = { tracker: DEFAULT_LABEL };
const APPLIED = { ...labels, result: 'applied' };
const EVICTED = { ...labels, result: 'evicted' };

/** Bounds of a delta are not part of the original contract: these replace what was sent. */
const LOWS = new Float64Array(fairLimits.elementsPerMessageMax.value);
const HIGHS = new Float64Array(fairLimits.elementsPerMessageMax.value).fill(1);

export class DefaultNamespace {
  readonly #deps: NamespaceDeps;
  readonly #settings: StateSettings;
  readonly #namespace: Namespace;
  #source: MirrorSource;
  #sweepTimer: Timer | undefined;
  #loadTimer: Timer | undefined;
  /** Until the stored state is loaded. */
  #loading: Promise<void> | undefined;
  readonly hub: BroadcastHub;

  constructor(deps: NamespaceDeps, settings: StateSettings) {
    this.#deps = deps;
    this.#settings = settings;
    const { defaultWindowMs: windowMs } = settings;
    this.#namespace = { name: '', rule: { policy: 'sum' }, shape: undefined, windowMs };
    this.hub = new BroadcastHub(deps, {
      ...settings,
      namespace: this.#namespace,
      label: DEFAULT_LABEL,
      isLive: (seed) => this.#ageOf(seed) !== 'evicted',
    });
    this.#source = this.#openSource();
    this.#armSweep();
  }

  /** Deltas and requests only; the stream handles the rest. */
  receive(
    outbox: StreamOutbox,
    request: Extract<SyncRequest, { kind: 'delta-update' | 'state-request' }>,
    receivedAtMs: number,
  ): MaybePromise<void> {
    if (this.#loading !== undefined)
      return this.#loading.then(() => this.receive(outbox, request, receivedAtMs));
    if (request.kind === 'state-request') return this.hub.sendState(outbox, request.seed);
    const { seed, deltas } = request;
    checkDefaultDeltas(deltas);
    const { metrics, store } = this.#deps;
    if (this.#ageOf(seed) === 'evicted') {
      metrics.add('syncline_fair_deltas_total', deltas.count, EVICTED);
      return undefined;
    }
    if (deltas.count === 0) return undefined;
    const plain = { ...deltas, lows: LOWS, highs: HIGHS };
    return whenDone(store.applyDelta(this.#namespace, seed, plain), (applied) => {
      metrics.add('syncline_fair_deltas_total', deltas.count, APPLIED);
      this.hub.feed(applied, receivedAtMs);
    });
  }

  /** The store was unreachable: changes by others were missed. */
  reload(): void {
    this.#closeSource();
    for (const seed of [...this.hub.mirrors.keys()]) this.hub.drop(seed);
    this.#source = this.#openSource();
  }

  close(): void {
    this.#sweepTimer?.cancel();
    this.#closeSource();
    this.hub.close();
  }

  #openSource(): MirrorSource {
    const source = new MirrorSource({ ...this.#deps, hub: this.hub }, this.#namespace);
    const loaded = source.load();
    if (!(loaded instanceof Promise)) return source;
    const { logger } = this.#deps;
    const loading = loaded
      .catch((thrown: unknown) => {
        const { message: reason } = SynclineError.from(thrown);
        const text =
          'could not read the default tracker; it starts empty here, and the read is retried';
        logger.warn(text, { reason });
        this.#loadLater(source);
      })
      .then(() => {
        if (this.#loading === loading) this.#loading = undefined;
      });
    this.#loading = loading;
    return source;
  }

  #loadLater(source: MirrorSource): void {
    if (source.isClosed) return;
    const load = () =>
      void source.loadLate().catch((thrown: unknown) => {
        const { message: reason } = SynclineError.from(thrown);
        this.#deps.logger.debug('the default tracker could not be read yet', { reason });
        this.#loadLater(source);
      });
    this.#loadTimer = this.#deps.clock.setTimer(LOAD_AGAIN_MS, load, { unref: true });
  }

  #closeSource(): void {
    this.#loadTimer?.cancel();
    this.#source.close();
  }

  #ageOf(seed: bigint): ReturnType<typeof defaultSeedAge> {
    const { defaultWindowMs: windowMs, defaultSeedUnit: unit } = this.#settings;
    return defaultSeedAge(seed, { windowMs, unit }, this.#deps.clock.nowMs());
  }

  #armSweep(): void {
    const intervalMs = sweepIntervalMs(this.#settings.defaultWindowMs);
    const sweep = () => {
      this.#sweep();
      this.#armSweep();
    };
    this.#sweepTimer = this.#deps.clock.setTimer(intervalMs, sweep, { unref: true });
  }

  /** Seed by seed: numbers of different units cannot be compared. */
  #sweep(): void {
    const { clock, logger, metrics, store } = this.#deps;
    const idleSinceMs = clock.monotonicMs() - LIVE_WINDOWS * this.#settings.defaultWindowMs;
    for (const mirror of [...this.hub.mirrors.values()]) {
      const age = this.#ageOf(mirror.seed);
      const isGone = age === 'opaque' ? mirror.changedAtMs < idleSinceMs : age === 'evicted';
      if (!isGone) continue;
      this.hub.drop(mirror.seed);
      metrics.add('syncline_fair_evicted_cells_total', mirror.cellsCount, labels);
      const forgotten = store.forget(this.#namespace, mirror.seed);
      if (!(forgotten instanceof Promise)) continue;
      forgotten.catch((thrown: unknown) => {
        const { message: reason } = SynclineError.from(thrown);
        logger.warn('an old seed could not be removed from the store', { reason });
      });
    }
  }
}
