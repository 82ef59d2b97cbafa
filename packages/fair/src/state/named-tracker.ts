// A named tracker: its configuration, its clients, and the rules by which their changes apply.
//
// Decay is never sent: only the store's clock determines it. A change carries its client and a rising number,
// so a repeated one is acknowledged again and not applied. After a restart it is unknown what was lost, so the
// epoch is new and clients are asked for their views; of two values the larger wins.
//
// F5   Within an epoch no change is applied twice.
// F11  Changes of an evicted seed are dropped and counted.
// F14  A view is joined by the larger value.
import { SynclineError, type Timer } from '@syncline/kernel';
import type { Cells } from '../cells.js';
import { fairLimits } from '../limits.js';
import type { Hello, SyncRequest, WireTrackerConfig } from '../wire/sync-messages.js';
import { BroadcastHub } from './broadcast-hub.js';
import { CHUNK_LENGTH, chunkOf, type GridShape, slotIn } from './cell-grid.js';
import { type MaybePromise, type Namespace, whenDone } from './fair-store.js';
import { namespaceOf } from './hello-checks.js';
import { checkCount, checkNamedDeltas, checkNamedSeed, checkView } from './input-checks.js';
import { InstanceCount } from './instance-count.js';
import { MirrorSource } from './mirror-source.js';
import { encodeWelcome } from './response-frames.js';
import { evictionBound, LIVE_WINDOWS, type SeedAge, seedAge } from './seed-age.js';
import type { SeedMirror } from './seed-mirror.js';
import type { NamespaceDeps, StateSettings } from './state-options.js';
import type { StreamOutbox } from './stream-outbox.js';

/** After all streams were lost, clients that reconnect within this time are asked for their views. */
const VIEWS_WANTED_MS = 5_000;

type DeltaUpdate = Extract<SyncRequest, { kind: 'delta-update' }>;
type ViewUpload = Extract<SyncRequest, { kind: 'view-upload' }>;

/** A client and its stream. */
export interface Member {
  readonly clientId: string;
  readonly outbox: StreamOutbox;
  /** Ends the stream. */
  end(error: SynclineError): void;
  /** Asked for, and no change was sent yet. */
  mayUploadView: boolean;
}

export interface NamedTrackerOptions {
  readonly settings: StateSettings;
  readonly label: string;
  readonly epoch: number;
  /** Shared by all trackers. */
  readonly budget: CellBudget;
}

export class NamedTracker {
  readonly #deps: NamespaceDeps;
  readonly #label: string;
  readonly #budget: CellBudget;
  readonly namespace: Namespace;
  readonly #members = new Map<string, Member>();
  readonly #isConnected = (clientId: string): boolean => this.#members.has(clientId);
  readonly #source: MirrorSource;
  readonly #instances: InstanceCount;
  #hadStreams = false;
  #returnedAtMs = Number.NEGATIVE_INFINITY;
  /** Since there is no stream. */
  #idleSinceMs: number;
  sweepTimer: Timer | undefined;
  readonly config: WireTrackerConfig;
  readonly hub: BroadcastHub;
  /** What the store held is loaded. */
  readonly ready: MaybePromise<void>;

  constructor(deps: NamespaceDeps, hello: Hello, options: NamedTrackerOptions) {
    const { clock, logger, store } = deps;
    const namespace = namespaceOf(hello.tracker, hello.config);
    this.#deps = deps;
    this.#label = options.label;
    this.#budget = options.budget;
    this.namespace = namespace;
    this.#idleSinceMs = clock.monotonicMs();
    this.config = hello.config;
    this.hub = new BroadcastHub(deps, {
      ...options.settings,
      namespace,
      label: options.label,
      isLive: (seed) => this.#ageOf(seed) === 'live',
    });
    this.hub.epoch = options.epoch;
    const countDeps = { clock, logger, hub: this.hub, shared: store.shared };
    this.#instances = new InstanceCount(countDeps, namespace, () => this.#members.keys());
    this.#source = new MirrorSource({ clock, store, hub: this.hub }, namespace);
    this.ready = this.#source.load();
    if (this.ready instanceof Promise) this.ready.catch(() => {}); // the next hello gets the error
  }

  /** Unused for three windows: another configuration may use the name. */
  get isIdle(): boolean {
    if (this.hub.streamsCount > 0) return false;
    const idleMs = this.#deps.clock.monotonicMs() - this.#idleSinceMs;
    return idleMs >= LIVE_WINDOWS * this.config.windowMs;
  }

  /** It holds nothing but its name. */
  get isUnused(): boolean {
    return this.hub.streamsCount === 0 && this.hub.mirrors.size === 0;
  }

  join({ clientId, lastEpoch }: Hello, stream: Pick<Member, 'outbox' | 'end'>): Member {
    const { clock } = this.#deps;
    const { epoch } = this.hub;
    const areReturning = this.#areStreamsReturning();
    const wantView = areReturning || (lastEpoch !== 0 && lastEpoch !== epoch);
    const { outbox } = stream;
    const member: Member = {
      clientId,
      outbox,
      end: (error) => stream.end(error),
      mayUploadView: wantView,
    };
    const older = this.#members.get(clientId);
    this.#members.set(clientId, member);
    this.hub.join(outbox);
    older?.end(replacedError(clientId));
    this.#instancesChanged();
    const welcome = {
      epoch,
      activeInstances: this.hub.activeInstances,
      serverTimeMs: clock.nowMs(),
      wantView,
      maxElements: fairLimits.elementsPerMessageMax.value,
    };
    this.hub.welcome(outbox, encodeWelcome(welcome));
    return member;
  }

  leave(member: Member): void {
    this.hub.leave(member.outbox);
    if (this.#members.get(member.clientId) === member) {
      this.#members.delete(member.clientId);
      this.#instances.left(member.clientId);
    }
    if (this.hub.streamsCount === 0) this.#idleSinceMs = this.#deps.clock.monotonicMs();
    this.#instancesChanged();
  }

  receiveDelta(member: Member, update: DeltaUpdate, receivedAtMs: number): MaybePromise<void> {
    const { seed, deltas, seq, epoch } = update;
    checkNamedSeed(seed, this.config.windowMs);
    checkCount('delta_update.seq', seq, 1);
    checkCount('delta_update.epoch', epoch, 0);
    checkNamedDeltas(deltas, this.config);
    member.mayUploadView = false;
    if (epoch !== this.hub.epoch) {
      this.#countDeltas('epoch', deltas.count);
      this.hub.announce(member.outbox); // says the epoch; the client reconnects
      return undefined;
    }
    const age = this.#ageOf(seed);
    if (age === 'evicted' || age === 'future') {
      this.#countDeltas(age, deltas.count);
      this.hub.acknowledge(member.outbox, seed, seq);
      return undefined;
    }
    this.#budget.check(this.config, this.hub.mirrors.get(seed), deltas);
    const { clientId } = member;
    const id = { clientId, seq, isConnected: this.#isConnected };
    const change = this.#deps.store.applyDelta(this.namespace, seed, deltas, id);
    return whenDone(change, (applied) => {
      this.#countDeltas(applied.result, deltas.count);
      if (applied.result === 'applied') this.hub.feed(applied, receivedAtMs);
      this.hub.acknowledge(member.outbox, seed, seq);
    });
  }

  receiveView(member: Member, { seed, cells }: ViewUpload): MaybePromise<void> {
    checkNamedSeed(seed, this.config.windowMs);
    checkView(cells, this.config);
    if (!member.mayUploadView || this.#ageOf(seed) !== 'live') {
      this.#countView('ignored');
      return undefined;
    }
    this.#budget.check(this.config, this.hub.mirrors.get(seed), cells);
    return whenDone(this.#deps.store.joinView(this.namespace, seed, cells), (applied) => {
      this.#countView('joined');
      this.hub.feed(applied);
    });
  }

  receiveStateRequest(member: Member, seed: bigint): void {
    checkNamedSeed(seed, this.config.windowMs);
    this.hub.sendState(member.outbox, seed);
  }

  /** Removes seeds that are too old. */
  sweep(): MaybePromise<void> {
    const { clock, store, metrics } = this.#deps;
    const bound = evictionBound(this.config.windowMs, clock.nowMs());
    for (const seed of [...this.hub.mirrors.keys()]) if (seed < bound) this.hub.drop(seed);
    return whenDone(store.evictBefore(this.namespace, bound), (cellsCount) => {
      if (cellsCount === 0) return;
      metrics.add('syncline_fair_evicted_cells_total', cellsCount, { tracker: this.#label });
    });
  }

  close(): void {
    this.sweepTimer?.cancel();
    this.#source.close();
    this.#instances.close();
    this.hub.close();
  }

  /** Called before a stream joins. A shared store has streams elsewhere: its epoch shows whether anything was lost. */
  #areStreamsReturning(): boolean {
    const { clock, store } = this.#deps;
    if (store.shared !== undefined) return false;
    const nowMs = clock.monotonicMs();
    if (this.hub.streamsCount === 0 && this.#hadStreams) this.#returnedAtMs = nowMs;
    this.#hadStreams = true;
    return nowMs - this.#returnedAtMs <= VIEWS_WANTED_MS;
  }

  #ageOf(seed: bigint): SeedAge {
    return seedAge(Number(seed), this.config.windowMs, this.#deps.clock.nowMs());
  }

  #instancesChanged(): void {
    this.#instances.changed();
    const labels = { tracker: this.#label };
    this.#deps.metrics.set('syncline_fair_instances', this.hub.activeInstances, labels);
  }

  #countDeltas(result: string, count: number): void {
    const labels = { tracker: this.#label, result };
    this.#deps.metrics.add('syncline_fair_deltas_total', count, labels);
  }

  #countView(result: 'joined' | 'ignored'): void {
    this.#deps.metrics.add('syncline_fair_views_total', 1, { tracker: this.#label, result });
  }
}

function replacedError(clientId: string): SynclineError {
  const text = `another stream identified itself as client "${clientId}". Give each process its own client_id; if this client has just reconnected, ignore this.`;
  return new SynclineError('fenced', text, { details: { reason: 'client_id' } });
}

// How many cells all named trackers of a service may have memory for. A shape costs nothing until its cells
// are touched, and then a chunk at a time; but anyone may send a hello under a new name, so the sum has a
// limit, too. It is compared only when a message would open a chunk: a few hundred times in a seed's life.
//
// F10  A message for which there is no room is refused before any of it is applied.

export type CellPlaces = Pick<Cells, 'count' | 'rows' | 'columns'>;

export interface CellBudget {
  /** Throws `limit-exceeded`. Without a mirror the seed is a new one. */
  check(shape: GridShape, mirror: SeedMirror | undefined, places: CellPlaces): void;
}

/** `heldCount`: cells that all trackers have memory for now. */
export function createCellBudget(heldCount: () => number): CellBudget {
  const { value: cellsMax } = fairLimits.namedCellsMax;
  return {
    check(shape, mirror, places) {
      const growth = growthOf(shape, mirror, places);
      if (growth === 0 || heldCount() + growth <= cellsMax) return;
      throw new SynclineError(
        'limit-exceeded',
        `the named trackers of this service would take memory for more than ${cellsMax} cells. Use fewer trackers, or fewer levels and columns; cells are dropped 3 windows after their seed.`,
        { details: { limit: 'namedCellsMax', limitValue: cellsMax } },
      );
    },
  };
}

function growthOf(shape: GridShape, mirror: SeedMirror | undefined, places: CellPlaces): number {
  const { count, rows, columns } = places;
  let opened: Set<number> | undefined;
  for (let index = 0; index < count; index += 1) {
    const slot = slotIn(shape, rows[index] ?? 0, columns[index] ?? 0);
    if (mirror?.isHeld(slot)) continue;
    opened ??= new Set();
    opened.add(chunkOf(slot));
  }
  return (opened?.size ?? 0) * CHUNK_LENGTH;
}
