// Write-behind: once a second changed cells are written to disk, and no request waits for it. Changes
// acknowledged in the last second may be lost in a crash; the epoch is new after a start, so clients then send
// their views.
//
// A write costs one or two microseconds per cell of the event loop, so it goes out in small batches with
// pauses between them. A disk that cannot be written to only stops persistence: cells stay marked, one line is
// logged, and every second it is retried.
//
// F51  A cell on disk has a value that the cell had, and never belongs to a seed that was dropped before.
import {
  type Clock,
  type Logger,
  type Metrics,
  readSound,
  type Storage,
  StorageBatch,
  SynclineError,
  type Timer,
} from '@syncline/kernel';
import type { Cells } from '../cells.js';
import { fairLimits } from '../limits.js';
import type { FairMetricName } from '../metrics-list.js';
import {
  type CellPlace,
  cellKey,
  cellsOfSeed,
  encodeCell,
  encodeNamespace,
  namespaceKey,
  seedPrefix,
} from './embedded-records.js';
import type { Namespace } from './fair-store.js';

export interface EmbeddedWriterDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics<FairMetricName>;
  /** The cells of a seed as of now, in arrays that do not change. */
  readCells(namespace: Namespace, seed: bigint): Cells;
  hasCells(namespace: Namespace): boolean;
  /** Called every second, before dirty cells are collected. */
  beforeRound(): void;
  /** The tracker is gone, here and on disk. */
  onIdle(namespace: Namespace): void;
}

interface Unwritten {
  namespace: Namespace;
  /** Whether the record of the tracker is on disk. */
  isRecorded: boolean;
  readonly dirty: Map<bigint, DirtyCells>;
  /** Seeds whose cells must be removed from disk before anything else is written. */
  readonly dropped: Set<bigint>;
}

export class EmbeddedWriter {
  readonly #deps: EmbeddedWriterDeps;
  readonly #unwritten = new Map<string, Unwritten>();
  readonly #closing = new AbortController();
  #timer: Timer | undefined;
  #round: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(deps: EmbeddedWriterDeps) {
    this.#deps = deps;
    this.#schedule();
  }

  /** These cells have changed. */
  mark(namespace: Namespace, seed: bigint, cells: Cells): void {
    if (cells.count === 0) return;
    const { dirty } = this.#of(namespace);
    const marks = dirty.get(seed) ?? new DirtyCells();
    marks.mark(cells);
    dirty.set(seed, marks);
  }

  /** The seed is gone: evicted, forgotten, or of a tracker whose description changed. */
  drop(namespace: Namespace, seed: bigint): void {
    const { dirty, dropped } = this.#of(namespace);
    dirty.delete(seed);
    dropped.add(seed);
  }

  /** The record of the tracker is on disk. */
  recorded(namespace: Namespace): void {
    this.#of(namespace).isRecorded = true;
  }

  /** The same name and description, as a new object. A tracker that was never adopted has a different description. */
  adopt(namespace: Namespace): void {
    const found = this.#unwritten.get(namespace.name);
    if (found !== undefined) found.namespace = namespace;
  }

  /** Writes the rest. Always resolves: failures are logged and counted. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#timer?.cancel();
    await this.#round;
    await this.#writeAll();
  }

  #of(namespace: Namespace): Unwritten {
    const { name } = namespace;
    const found = this.#unwritten.get(name);
    if (found?.namespace === namespace) return found;
    const made: Unwritten = {
      namespace,
      isRecorded: false,
      dirty: found?.dirty ?? new Map<bigint, DirtyCells>(),
      dropped: found?.dropped ?? new Set<bigint>(),
    };
    this.#unwritten.set(name, made);
    return made;
  }

  #schedule(): void {
    if (this.#closing.signal.aborted) return;
    const { value } = fairLimits.persistIntervalMs;
    this.#timer = this.#deps.clock.setTimer(value, () => this.#tick(), { unref: true });
  }

  #tick(): void {
    this.#deps.beforeRound();
    this.#round = this.#writeAll().then(() => this.#schedule());
  }

  async #writeAll(): Promise<void> {
    const { clock, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    let hasWritten = false;
    try {
      for (const unwritten of [...this.#unwritten.values()]) {
        if (unwritten.dropped.size + unwritten.dirty.size === 0) continue;
        hasWritten = true;
        await this.#deleteDropped(unwritten);
        await this.#writeDirty(unwritten);
        await this.#forgetIdle(unwritten);
      }
      if (!hasWritten) return;
      metrics.observe('syncline_fair_persist_seconds', (clock.monotonicMs() - startMs) / 1000);
      this.#recovered();
    } catch (thrown) {
      this.#failed(SynclineError.from(thrown, 'storage-failed'));
    }
  }

  async #deleteDropped(unwritten: Unwritten): Promise<void> {
    const { namespace, dropped } = unwritten;
    for (const seed of [...dropped]) {
      const range = cellsOfSeed(namespace.name, seed);
      for await (const { entries, damaged } of readSound(this.#deps.storage, range)) {
        const batch = new StorageBatch();
        for (const { key } of [...entries, ...damaged]) batch.delete(key);
        await this.#write(batch);
      }
      dropped.delete(seed);
    }
  }

  /** A tracker without cells needs no record, and an unused name needs no entry here. */
  async #forgetIdle(unwritten: Unwritten): Promise<void> {
    const { namespace, dirty, dropped } = unwritten;
    const isIdle = (): boolean =>
      dirty.size + dropped.size === 0 && !this.#deps.hasCells(namespace);
    if (!isIdle()) return;
    unwritten.isRecorded = false;
    await this.#write(new StorageBatch().delete(namespaceKey(namespace.name)));
    const isCurrent = this.#unwritten.get(namespace.name) === unwritten;
    if (!isCurrent || !isIdle()) return;
    this.#unwritten.delete(namespace.name);
    this.#deps.onIdle(namespace);
  }

  async #writeDirty(unwritten: Unwritten): Promise<void> {
    const { dirty, dropped } = unwritten;
    for (const [seed, marks] of [...dirty]) {
      dirty.delete(seed); // what changes from here on is marked again
      try {
        await this.#record(unwritten);
        await this.#writeCells(unwritten, seed, marks);
      } catch (thrown) {
        if (!dropped.has(seed)) putBack(dirty, seed, marks);
        throw thrown;
      }
    }
  }

  async #record(unwritten: Unwritten): Promise<void> {
    if (unwritten.isRecorded) return;
    const { namespace } = unwritten;
    const record = encodeNamespace(namespace);
    await this.#write(new StorageBatch().put(namespaceKey(namespace.name), record));
    unwritten.isRecorded = true;
  }

  /** Ends if the seed is dropped in the meantime: what was written is removed in the next round. */
  async #writeCells(unwritten: Unwritten, seed: bigint, marks: DirtyCells): Promise<void> {
    const { namespace, dropped } = unwritten;
    let batch = new StorageBatch();
    let places: CellPlace[] = [];
    const write = async (): Promise<void> => {
      try {
        await this.#write(batch);
      } catch (thrown) {
        for (const { row, column } of places) marks.add(row, column);
        throw thrown;
      }
      [batch, places] = [new StorageBatch(), []];
    };
    for (const { place, key, value } of this.#changes(namespace, seed, marks)) {
      if (value === undefined) batch.delete(key);
      else batch.put(key, value);
      places.push(place);
      if (places.length >= fairLimits.persistBatchCells.value) await write();
      if (dropped.has(seed)) return;
    }
    await write();
  }

  /** Takes the marks. A marked cell that the store no longer shows has decayed, and is removed from disk too. */
  *#changes(namespace: Namespace, seed: bigint, marks: DirtyCells): Generator<CellChange> {
    const cells = this.#deps.readCells(namespace, seed);
    const prefix = seedPrefix(namespace.name, seed);
    for (let at = 0; at < cells.count; at += 1) {
      const place = { row: cells.rows[at] ?? 0, column: cells.columns[at] ?? 0 };
      if (!marks.take(place.row, place.column)) continue;
      const value = encodeCell(cells.probabilities[at] ?? 0, cells.timesMs[at] ?? 0);
      yield { place, key: cellKey(prefix, place), value };
    }
    for (const place of marks.places()) {
      marks.take(place.row, place.column);
      yield { place, key: cellKey(prefix, place), value: undefined };
    }
  }

  async #write(batch: StorageBatch): Promise<void> {
    if (batch.length === 0) return;
    await this.#deps.storage.write(batch, { durability: 'buffered' });
    if (this.#closing.signal.aborted) return;
    const pauseMs = fairLimits.persistPauseMs.value;
    await this.#deps.clock.sleep(pauseMs, this.#closing.signal).catch(() => undefined);
  }

  #failed(error: SynclineError): void {
    this.#deps.metrics.add('syncline_fair_store_errors_total', 1, { store: 'embedded' });
    if (this.#isFailing) return;
    this.#isFailing = true;
    const { code } = error;
    this.#deps.logger.error('cannot write fair state to disk; serving continues from memory', {
      code,
      error,
    });
  }

  #recovered(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#deps.logger.info('writing fair state to disk works again');
  }
}

interface CellChange {
  readonly place: CellPlace;
  readonly key: Uint8Array;
  /** Undefined: the cell is removed. */
  readonly value: Uint8Array | undefined;
}

function putBack(dirty: Map<bigint, DirtyCells>, seed: bigint, marks: DirtyCells): void {
  const newer = dirty.get(seed);
  if (newer === undefined) dirty.set(seed, marks);
  else for (const { row, column } of marks.places()) newer.add(row, column);
}

// Which cells have changed since they were last written to disk: marks, no values. What is written is
// the value at that time, so a cell that changes a thousand times in a second is written once, and a disk
// that takes nothing for an hour costs one mark per cell.

export class DirtyCells {
  /** Columns by row. Both may be any integer in the default tracker. */
  readonly #rows = new Map<number, Set<number>>();

  mark({ count, rows, columns }: Cells): void {
    for (let at = 0; at < count; at += 1) this.add(rows[at] ?? 0, columns[at] ?? 0);
  }

  add(row: number, column: number): void {
    const columns = this.#rows.get(row);
    if (columns === undefined) this.#rows.set(row, new Set([column]));
    else columns.add(column);
  }

  /** Removes the mark; false if there was none. */
  take(row: number, column: number): boolean {
    return this.#rows.get(row)?.delete(column) ?? false;
  }

  *places(): Generator<CellPlace> {
    for (const [row, columns] of this.#rows) for (const column of columns) yield { row, column };
  }
}
