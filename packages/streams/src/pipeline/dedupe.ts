// Passes on the first item with each id and drops later ones, such as duplicates written by a producer.
//
// Ids are remembered per key, with the event time after which they are forgotten. Without event times they are never
// forgotten, and the limit of ids per key applies.
import { streamsLimits } from '../limits.js';
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import type { Codec } from '../state/codec.js';
import { checkKey, groupOf, type Key, readKey, writeKey } from '../state/key.js';
import { badRecord } from '../state/state-error.js';
import type { AnyCells } from '../store/pipeline-states.js';
import { type Batch, select } from './batch.js';
import { Heap } from './heap.js';
import { eachItem, Operator, type OperatorEnv } from './operator.js';
import { compareDue, type DueTimer } from './timers.js';

export const SEEN = '~seen';

interface SeenId {
  readonly id: Key;
  /** The id is forgotten when the watermark reaches this; null if there is no event time. */
  readonly untilMs: number | null;
}

const writer = new ByteWriter();

export const seenCodec: Codec<readonly SeenId[]> = {
  id: 'seen-ids',
  version: 1,
  encode(ids) {
    writer.clear();
    writer.varint(ids.length);
    for (const { id, untilMs } of ids) {
      const start = writer.beginSized();
      writeKey(writer, id);
      writer.endSized(start);
      writer.u8(untilMs === null ? 0 : 1);
      writer.i64(untilMs ?? 0);
    }
    return writer.view();
  },
  decode(bytes) {
    const reader = new ByteReader('seen ids', bytes);
    return Array.from({ length: reader.varint() }, () => {
      const id = readKey(reader, reader.varint());
      const hasTime = reader.u8() === 1;
      const untilMs = reader.i64();
      return { id, untilMs: hasTime ? untilMs : null };
    });
  },
};

export class DedupeOperator extends Operator {
  readonly #env: OperatorEnv;
  readonly #idOf: (item: unknown) => Key;
  readonly #keepMs: number;
  readonly #cells: AnyCells;
  readonly #due = new Heap<DueTimer>(compareDue);

  constructor(env: OperatorEnv, idOf: (item: unknown) => Key, keepMs: number) {
    super(env.name);
    this.#env = env;
    this.#idOf = idOf;
    this.#keepMs = keepMs;
    this.#cells = env.cells(SEEN);
  }

  override async load(): Promise<void> {
    await this.#env.forEach(SEEN, ({ key, value }) => {
      for (const { untilMs } of value as readonly SeenId[]) this.#index(key, untilMs);
    });
  }

  take(batch: Batch): void {
    const places: number[] = [];
    const step = (at: number) => {
      const id = this.#idOf(batch.items[at]);
      checkKey(id);
      if (this.#remember(batch.keys?.[at] as Key, id, batch.times?.[at])) places.push(at);
    };
    eachItem(batch, this.#env, step, () => {});
    if (places.length > 0) this.emit(select(batch, places));
  }

  /** Returns false if the id is already known. */
  #remember(key: Key, id: Key, timeMs: number | undefined): boolean {
    const cells = this.#cells;
    const cell = cells.edit(key);
    const known = cell === undefined ? [] : (cells.valueAt(cell) as readonly SeenId[]);
    if (known.some((seen) => seen.id === id)) return false;
    if (known.length >= streamsLimits.dedupeIdsMax.value) {
      throw badRecord(`the key already has ${known.length} ids, the most that dedupe remembers`);
    }
    const untilMs = timeMs === undefined ? null : timeMs + this.#keepMs;
    const ids = [...known, { id, untilMs }];
    if (cell === undefined) cells.insert(key, ids, undefined);
    else cells.change(cell, ids, undefined);
    this.#index(key, untilMs);
    return true;
  }

  #index(key: Key, untilMs: number | null): void {
    if (untilMs === null) return;
    this.#due.push({ atMs: untilMs, group: groupOf(key, this.#env.keyGroups), key });
  }

  protected override reach(ms: number): void {
    for (let top = this.#due.top; top !== undefined && top.atMs <= ms; top = this.#due.top) {
      this.#due.pop();
      this.#forget(top.key, ms);
    }
    this.forward(ms);
  }

  #forget(key: Key, ms: number): void {
    const cell = this.#cells.edit(key);
    if (cell === undefined) return;
    const known = this.#cells.valueAt(cell) as readonly SeenId[];
    const rest = known.filter(({ untilMs }) => untilMs === null || untilMs > ms);
    if (rest.length === known.length) return;
    if (rest.length === 0) this.#cells.remove(cell);
    else this.#cells.change(cell, rest, undefined);
  }
}
