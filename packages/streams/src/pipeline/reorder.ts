// Orders the items of a keyed stream by version and drops outdated ones.
//
// Items are put into a versioned state, and those that it applies are passed on. With policy `lww` this happens
// immediately. With `sealed` they wait until their version is sealed, that is, until every partition has declared, by
// its lag or by a record, that nothing at or below that version will arrive. Items that still do are late.
//
// X34  Sealed items are released in the order (version, origin, epoch, round, index); at every barrier
//      in = applied + same + older + late + dead-lettered + buffered.
import { assert, SynclineError } from '@syncline/kernel';
import { originName } from '../ends/partition-name.js';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import type { Cells } from '../state/cells.js';
import { type Codec, checkLength } from '../state/codec.js';
import type { Key } from '../state/key.js';
import type { Version, VersionType } from '../state/version.js';
import { VersionedState } from '../state/versioned-state.js';
import type { AnyCells } from '../store/pipeline-states.js';
import { type Batch, BatchBuilder, indexAt, select } from './batch.js';
import { Heap } from './heap.js';
import { compareHeld, type Held } from './held-items.js';
import { Operator, type OperatorEnv, refuse } from './operator.js';

export const NEWEST = '~newest';
export const BUFFER = '~buffer';
const NEARLY_FULL = 0.8;

export interface ReorderRules {
  readonly policy: 'sealed' | 'lww';
  readonly versions: VersionType<unknown>;
  /** Undefined for a record that only seals versions. */
  version(item: unknown): Version | undefined;
  readonly sealed:
    | { readonly lag: number }
    | { by(item: unknown): Version | undefined }
    | undefined;
  readonly onFull: 'fail' | 'release';
  readonly itemsMax: number;
  readonly bytesMax: number;
  readonly codec: Codec<unknown>;
}

interface HeldOfKey extends Held {
  readonly key: Key;
  readonly bytes: number;
}

export class ReorderOperator extends Operator {
  readonly #env: OperatorEnv;
  readonly #rules: ReorderRules;
  readonly #newest: VersionedState<unknown, Version, unknown>;
  readonly #buffer: AnyCells | undefined;
  readonly #heap: Heap<HeldOfKey>;
  /** The highest version that each partition has sealed. */
  readonly #sealedBy = new Map<string, unknown>();
  /** The highest version that all partitions have sealed. */
  #sealed: { readonly version: unknown } | 'nothing' | 'everything' = 'nothing';
  #bytes = 0;
  #inputMs = Number.NEGATIVE_INFINITY;
  readonly #counts = { in: 0, passed: 0, same: 0, older: 0, late: 0, dead: 0 };
  readonly #out = new BatchBuilder();

  constructor(env: OperatorEnv, rules: ReorderRules) {
    super(env.name);
    this.#env = env;
    this.#rules = rules;
    const cells = env.cells(NEWEST) as Cells<unknown, Version, unknown>;
    this.#newest = new VersionedState(cells, { defer: () => ({ cancel() {} }) });
    this.#buffer = rules.policy === 'sealed' ? env.cells(BUFFER) : undefined;
    const { versions } = rules;
    this.#heap = new Heap((left, right) => compareHeld(versions, left, right));
  }

  override async load(): Promise<void> {
    const restored = this.#env.restored as SavedReorder | undefined;
    for (const [origin, bytes] of Object.entries(restored?.sealedBy ?? {})) {
      this.#sealedBy.set(origin, this.#decode(bytes));
    }
    if (restored?.sealed === 'everything') this.#sealed = 'everything';
    else if (restored?.sealed !== undefined && restored.sealed !== 'nothing') {
      this.#sealed = { version: this.#decode(restored.sealed) };
    }
    if (this.#buffer === undefined) return;
    await this.#env.forEach(BUFFER, ({ key, value }) => {
      for (const held of value as readonly Held[]) {
        this.#index(key, held, this.#rules.codec.encode(held.item).length);
      }
    });
    this.#counts.in = this.#heap.length;
  }

  override saved(): Json | undefined {
    const { in: arrived, passed, same, older, late, dead } = this.#counts;
    const accounted = passed + same + older + late + dead + this.#heap.length;
    assert(arrived === accounted, `X34 reorder "${this.name}" accounts for every item`);
    if (this.#buffer === undefined) return undefined;
    const sealed = this.#sealed;
    const saved: SavedReorder = {
      sealedBy: Object.fromEntries([...this.#sealedBy].map(([o, v]) => [o, this.#encode(v)])),
      sealed: typeof sealed === 'string' ? sealed : this.#encode(sealed.version),
    };
    return saved as unknown as Json;
  }

  take(batch: Batch): void {
    const { items, keys = [] } = batch;
    const late: number[] = [];
    for (let at = 0; at < items.length; at += 1) {
      this.#counts.in += 1;
      try {
        this.#takeOne(batch, at, keys[at] as Key, late);
      } catch (thrown) {
        refuse(batch, at, this.#env, thrown, () => {});
        this.#counts.dead += 1;
      }
    }
    if (this.#out.length > 0) this.emit(this.#out.take(batch.origin, batch.epoch, this.name));
    if (late.length === 0) return;
    this.#counts.late += late.length;
    this.#env.counters.late += late.length;
    this.#env.late?.take(select(batch, late), 0);
  }

  #takeOne(batch: Batch, at: number, key: Key, late: number[]): void {
    const { versions, sealed } = this.#rules;
    const item = batch.items[at];
    const given = this.#rules.version(item);
    const sealing = sealed !== undefined && 'by' in sealed ? sealed.by(item) : undefined;
    // Checked before the item is held, so that a rejected item is not held as well.
    const seals = sealing === undefined ? undefined : versions.check(sealing);
    if (given === undefined) {
      this.#counts.in -= 1; // it only seals versions
    } else {
      const version = versions.check(given);
      const held: Held = {
        version,
        origin: batch.origin,
        epoch: batch.epoch,
        round: batch.rounds[at] as number,
        index: indexAt(batch, at),
        timeMs: batch.times?.[at],
        item,
      };
      if (this.#buffer === undefined) {
        if (this.#apply(key, held)) {
          this.#out.push(item, key, held.round, held.index, held.timeMs);
        }
      } else if (this.#isSealed(version)) late.push(at);
      else this.#hold(key, held);
      if (sealed !== undefined && 'lag' in sealed) {
        this.#raise(batch.origin, minus(version as number | bigint, sealed.lag + 1));
      }
    }
    if (seals !== undefined) this.#raise(batch.origin, seals);
  }

  /** Returns true if the item is newer than the current one of its key. */
  #apply(key: Key, { item, version }: Held): boolean {
    const result = this.#newest.put(key, item, version as Version);
    if (result === 'applied') this.#counts.passed += 1;
    else if (result === 'same') this.#counts.same += 1;
    else {
      this.#counts.older += 1;
      this.#env.counters.older += 1;
    }
    return result === 'applied';
  }

  /** Holds the item in its restored form, so that a restart does not change what is released. */
  #hold(key: Key, given: Held): void {
    const { codec } = this.#rules;
    const held = codec.normalise ? { ...given, item: codec.normalise(given.item) } : given;
    const { length: bytes } = codec.encode(held.item);
    checkLength(bytes);
    const cells = this.#buffer as AnyCells;
    const cell = cells.edit(key);
    if (cell === undefined) cells.insert(key, [held], undefined);
    else cells.change(cell, [...(cells.valueAt(cell) as readonly Held[]), held], undefined);
    this.#index(key, held, bytes);
  }

  #index(key: Key, held: Held, bytes: number): void {
    this.#bytes += bytes;
    this.#heap.push({ ...held, key, bytes });
    this.#env.counters.held = this.#heap.length;
  }

  /** Records that a partition has sealed everything up to `version`. */
  #raise(origin: string, version: unknown): void {
    const before = this.#sealedBy.get(origin);
    const isHigher = before === undefined || this.#rules.versions.compare(version, before) > 0;
    if (isHigher) this.#sealedBy.set(origin, version);
  }

  #isSealed(version: unknown): boolean {
    if (typeof this.#sealed === 'string') return this.#sealed === 'everything';
    return this.#rules.versions.compare(version, this.#sealed.version) <= 0;
  }

  /** Releases the items that all partitions have sealed by now. */
  override settle(): void {
    if (this.#buffer === undefined) return;
    this.#advanceSealed();
    this.#release((held) => this.#isSealed(held.version));
    const { itemsMax, bytesMax, onFull } = this.#rules;
    const isFull = () => this.#heap.length > itemsMax || this.#bytes > bytesMax;
    if (isFull()) {
      if (onFull === 'fail') throw this.#full();
      this.#release((held) => {
        if (!isFull()) return false;
        this.#sealed = { version: held.version };
        this.#env.counters.releasedEarly += 1;
        return true;
      });
    }
    this.#forwardHeld();
  }

  #advanceSealed(): void {
    let lowest: { readonly version: unknown } | 'nothing' | 'everything' = 'everything';
    for (const { origin, isIdle, isEnded } of this.#env.partitions()) {
      if (isIdle || isEnded) continue;
      const version = this.#sealedBy.get(origin);
      if (version === undefined) return;
      const isLower =
        lowest === 'everything' ||
        this.#rules.versions.compare(version, (lowest as { version: unknown }).version) < 0;
      if (isLower) lowest = { version };
    }
    if (lowest === 'everything') {
      const partitions = [...this.#env.partitions()];
      if (partitions.length > 0 && partitions.every(({ isEnded }) => isEnded)) {
        this.#sealed = 'everything';
      }
      return; // all are idle, so nothing is known
    }
    if (!this.#isSealed(lowest.version)) this.#sealed = lowest;
  }

  #release(isDue: (held: HeldOfKey) => boolean): void {
    let run: HeldOfKey | undefined;
    for (let top = this.#heap.top; top !== undefined && isDue(top); top = this.#heap.top) {
      this.#heap.pop();
      this.#bytes -= top.bytes;
      this.#removeHeld(top);
      if (run !== undefined && (run.origin !== top.origin || run.epoch !== top.epoch)) {
        this.#flush(run);
      }
      run = top;
      this.#passOn(top);
      if (this.#out.length >= streamsLimits.batchItemsMax.value) this.#flush(run);
    }
    if (run !== undefined) this.#flush(run);
    this.#env.counters.held = this.#heap.length;
  }

  #passOn(held: HeldOfKey): void {
    try {
      if (!this.#apply(held.key, held)) return;
      this.#out.push(held.item, held.key, held.round, held.index, held.timeMs);
    } catch (thrown) {
      const one = new BatchBuilder();
      one.push(held.item, held.key, held.round, held.index, held.timeMs);
      const batch = one.take(held.origin, held.epoch, this.name);
      refuse(batch, 0, this.#env, thrown, () => {});
      this.#counts.dead += 1;
    }
  }

  #flush({ origin, epoch }: HeldOfKey): void {
    if (this.#out.length > 0) this.emit(this.#out.take(origin, epoch, this.name));
  }

  #removeHeld(held: HeldOfKey): void {
    const cells = this.#buffer as AnyCells;
    const cell = cells.edit(held.key);
    assert(cell !== undefined, 'a held item is in the state');
    const rest = (cells.valueAt(cell) as readonly Held[]).filter(
      (each) =>
        each.round !== held.round ||
        each.index !== held.index ||
        each.origin !== held.origin ||
        each.epoch !== held.epoch,
    );
    if (rest.length === 0) cells.remove(cell);
    else cells.change(cell, rest, undefined);
  }

  /** Held-back items hold back event time too. */
  protected override reach(ms: number): void {
    this.#inputMs = ms;
    if (this.#buffer === undefined) this.forward(ms);
    else this.#forwardHeld();
  }

  #forwardHeld(): void {
    if (this.#inputMs <= this.watermarkMs && !this.isIdle) return;
    let heldMs = Number.POSITIVE_INFINITY;
    for (const { timeMs } of this.#heap.items) {
      if (timeMs !== undefined && timeMs < heldMs) heldMs = timeMs;
    }
    this.forward(Math.min(this.#inputMs, heldMs - 1));
  }

  override wanted(): ReadonlySet<string> | undefined {
    const { itemsMax, bytesMax } = this.#rules;
    const isNearlyFull =
      this.#heap.length >= itemsMax * NEARLY_FULL || this.#bytes >= bytesMax * NEARLY_FULL;
    if (this.#buffer === undefined || !isNearlyFull) return undefined;
    return new Set(this.#holdingBack());
  }

  /** Partitions that have sealed the least. */
  #holdingBack(): readonly string[] {
    const { versions } = this.#rules;
    const open = [...this.#env.partitions()].filter(({ isIdle, isEnded }) => !isIdle && !isEnded);
    const unknown = open.filter(({ origin }) => !this.#sealedBy.has(origin));
    if (unknown.length > 0) return unknown.map(({ origin }) => origin);
    const sealed = open.map(({ origin }) => ({ origin, version: this.#sealedBy.get(origin) }));
    const lowest = sealed.reduce<{ version: unknown } | undefined>(
      (low, each) =>
        low === undefined || versions.compare(each.version, low.version) < 0 ? each : low,
      undefined,
    );
    return sealed
      .filter(({ version }) => versions.compare(version, lowest?.version) === 0)
      .map(({ origin }) => origin);
  }

  #full(): SynclineError {
    const { itemsMax, bytesMax } = this.#rules;
    const channels = this.#holdingBack();
    return new SynclineError(
      'limit-exceeded',
      `reorder "${this.name}" holds back ${this.#heap.length} items (${this.#bytes} bytes), more than ` +
        `${itemsMax} items or ${bytesMax} bytes. It waits for ${channels.map(originName).join(', ')}, ` +
        'which has sealed the least. Declare it idle, raise the limit, or use `onFull: "release"`.',
      { details: { limit: 'reorderItemsMax', uid: this.name, channels } },
    );
  }

  #encode(version: unknown): string {
    const writer = new ByteWriter();
    this.#rules.versions.write(writer, version);
    return Buffer.from(writer.view()).toString('hex');
  }

  #decode(hex: string): unknown {
    return this.#rules.versions.read(new ByteReader('a sealed version', Buffer.from(hex, 'hex')));
  }
}

interface SavedReorder {
  readonly sealedBy: Readonly<Record<string, string>>;
  readonly sealed: string;
}

function minus(version: number | bigint, lag: number): number | bigint {
  return typeof version === 'bigint' ? version - BigInt(lag) : version - lag;
}
