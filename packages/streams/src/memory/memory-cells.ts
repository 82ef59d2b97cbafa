// Cells in a heap map: the fastest place for state that fits into memory, and the reference for others.
//
// An update costs one lookup. Nothing is encoded then: keys and values become bytes when a snapshot
// needs them. Each cell carries the generation of the last snapshot that is done with it, so a write
// compares two numbers to know whether a running snapshot still needs the old content.
import { assert } from '@syncline/kernel';
import type { Entry } from '../snapshot/entry.js';
import { type Cells, nextTurn, readSnapshot, runInSlices, type Turns } from '../state/cells.js';
import { checkKey, type Key } from '../state/key.js';
import { checkValue, type StateSchema } from '../state/state-schema.js';
import { MemoryCapture, MemoryCell } from './memory-capture.js';

export interface MemoryCellsOptions {
  readonly snapshotBytesMax: number;
}

export class MemoryCells<V, Ver> implements Cells<V, Ver> {
  readonly schema: StateSchema<V, Ver>;
  readonly #turns: Turns;
  readonly #options: MemoryCellsOptions;
  #cells = new Map<Key, MemoryCell<V, Ver>>();
  #tombstones = new Set<MemoryCell<V, Ver>>();
  /** Of the newest capture. Every cell is of this generation or an earlier one. */
  #generation = 0;
  /** The capture that is being encoded; there is at most one. */
  #capture: MemoryCapture<V, Ver> | undefined;
  #isRestoring = false;

  constructor(schema: StateSchema<V, Ver>, turns: Turns, options: MemoryCellsOptions) {
    this.schema = schema;
    this.#turns = turns;
    this.#options = options;
  }

  /** A key that is found has been checked before. */
  find(key: Key): MemoryCell<V, Ver> | undefined {
    const cell = this.#cells.get(key);
    if (cell === undefined) checkKey(key);
    return cell;
  }

  edit(key: Key): MemoryCell<V, Ver> | undefined {
    const cell = this.find(key);
    if (cell !== undefined && cell.generation !== this.#generation) this.#enter(cell);
    return cell;
  }

  insert(key: Key, value: V | undefined, version: Ver): void {
    assert(!this.#isRestoring, 'a state must not be written to while it is being restored');
    if (value !== undefined) checkValue(this.schema, key, value);
    const cell = new MemoryCell(key, value, version, this.#generation);
    this.#cells.set(key, cell);
    if (value === undefined) this.#tombstones.add(cell);
  }

  change(cell: MemoryCell<V, Ver>, value: V | undefined, version: Ver): void {
    if (value !== undefined) checkValue(this.schema, cell.key, value);
    if (cell.generation !== this.#generation) this.#enter(cell);
    if (value === undefined) this.#tombstones.add(cell);
    else if (cell.value === undefined) this.#tombstones.delete(cell);
    cell.value = value;
    cell.version = version;
  }

  remove(cell: MemoryCell<V, Ver>): void {
    if (cell.generation !== this.#generation) this.#enter(cell);
    this.#cells.delete(cell.key);
    this.#tombstones.delete(cell);
  }

  /** The entries were decoded by the codec, so no value of theirs can be refused. */
  writeAll(entries: readonly Entry<V, Ver>[]): void {
    for (const { key, value, version } of entries) {
      const cell = this.#cells.get(key);
      if (cell === undefined) this.insert(key, value, version);
      else this.change(cell, value, version);
    }
  }

  removeTombstones(isOld: (version: Ver) => boolean): number {
    let removed = 0;
    for (const cell of this.#tombstones) {
      if (!isOld(cell.version)) continue;
      this.remove(cell);
      removed += 1;
    }
    return removed;
  }

  async snapshot(): Promise<Uint8Array> {
    return this.#encode([...this.#cells.values()], false);
  }

  async snapshotForKeys(keys: Iterable<Key>): Promise<Uint8Array> {
    const cells = new Set<MemoryCell<V, Ver>>();
    for (const key of keys) {
      const cell = this.find(key);
      if (cell !== undefined) cells.add(cell);
    }
    return this.#encode([...cells], true);
  }

  async restore(bytes: Uint8Array): Promise<void> {
    assert(!this.#isRestoring, 'a state must not be restored twice at once');
    const cells = new Map<Key, MemoryCell<V, Ver>>();
    const tombstones = new Set<MemoryCell<V, Ver>>();
    const reading = readSnapshot(bytes, this.schema, 'whole', ({ key, value, version }) => {
      const cell = new MemoryCell(key, value, version, 0);
      cells.set(key, cell);
      if (value === undefined) tombstones.add(cell);
    });
    // A new generation: the next write to any cell passes #enter, which sees that a restore is running.
    this.#startGeneration();
    this.#isRestoring = true;
    try {
      await runInSlices(reading, this.#turns);
    } finally {
      this.#isRestoring = false;
    }
    this.#cells = cells;
    this.#tombstones = tombstones;
  }

  async #encode(cells: readonly MemoryCell<V, Ver>[], isPartial: boolean): Promise<Uint8Array> {
    this.#startGeneration();
    const capture = new MemoryCapture(this.schema, cells, this.#generation, {
      isPartial,
      bytesMax: this.#options.snapshotBytesMax,
    });
    this.#capture = capture;
    while (!capture.advance()) await nextTurn(this.#turns);
    if (this.#capture === capture) this.#capture = undefined;
    return capture.result();
  }

  /** Finishes the running capture at once: cells of two generations ago could not be told apart. */
  #startGeneration(): void {
    while (this.#capture?.advance() === false);
    this.#capture = undefined;
    this.#generation += 1;
  }

  /** The first change of a cell in this generation. */
  #enter(cell: MemoryCell<V, Ver>): void {
    assert(!this.#isRestoring, 'a state must not be written to while it is being restored');
    this.#capture?.keep(cell);
    cell.generation = this.#generation;
  }
}
