// Tumbling windows over event time: each item belongs to one window, and a window emits once, when the
// watermark says that it is complete.
//
// The state holds the open windows of each key. Beside it an index knows which keys have a window that
// ends at a time; it is derived from the state.
//
// X33  A window emits once, at W >= end - 1, in the order (end, key group, key bytes).
import { SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { type Codec, checkLength } from '../state/codec.js';
import { compareKeys, type Key } from '../state/key.js';
import { badRecord } from '../state/state-error.js';
import type { AnyCells } from '../store/pipeline-states.js';
import { type Batch, BatchBuilder } from './batch.js';
import { Heap } from './heap.js';
import { Operator, type OperatorEnv, refuse } from './operator.js';
import { select } from './stateless.js';
import { groupOf } from './timers.js';

export const WINDOWS = '~windows';

/** From `startMs` up to, not including, `endMs`. */
export interface WindowOf<K extends Key, A> {
  readonly key: K;
  readonly startMs: number;
  readonly endMs: number;
  readonly value: A;
}

export interface Tumbling {
  readonly sizeMs: number;
  /** Windows start at whole multiples of the size, plus this. */
  readonly offsetMs: number;
}

/** Windows of one size, side by side. */
export function tumbling(options: {
  readonly sizeMs: number;
  readonly offsetMs?: number;
}): Tumbling {
  const { sizeMs, offsetMs = 0 } = options;
  if (!Number.isSafeInteger(sizeMs) || sizeMs < 1 || !Number.isSafeInteger(offsetMs)) {
    throw new SynclineError(
      'invalid-argument',
      `a window needs a size of at least 1 ms and a whole offset, not ${sizeMs} and ${offsetMs}`,
      { details: { field: 'sizeMs' } },
    );
  }
  return { sizeMs, offsetMs };
}

interface Pane {
  readonly startMs: number;
  value: unknown;
}

export function panesCodec(values: Codec<unknown>): Codec<readonly Pane[]> {
  const writer = new ByteWriter();
  return {
    id: `windows of ${values.id}`,
    version: values.version,
    encode(panes) {
      writer.clear();
      writer.varint(panes.length);
      for (const { startMs, value } of panes) {
        const bytes = values.encode(value);
        checkLength(bytes.length);
        writer.i64(startMs);
        writer.varint(bytes.length);
        writer.bytes(bytes);
      }
      return writer.view();
    },
    decode(bytes, version) {
      const reader = new ByteReader('windows', bytes);
      return Array.from({ length: reader.varint() }, () => {
        const startMs = reader.i64();
        return { startMs, value: values.decode(reader.bytes(reader.varint()), version) };
      });
    },
  };
}

export interface WindowRules {
  readonly window: Tumbling;
  initial(): unknown;
  add(value: unknown, item: unknown): unknown;
}

export class WindowOperator extends Operator {
  readonly #env: OperatorEnv;
  readonly #rules: WindowRules;
  readonly #cells: AnyCells;
  readonly #keysByEnd = new Map<number, Key[]>();
  readonly #ends = new Heap<number>((left, right) => left - right);

  constructor(env: OperatorEnv, rules: WindowRules) {
    super(env.name);
    this.#env = env;
    this.#rules = rules;
    this.#cells = env.cells(WINDOWS);
  }

  override async load(): Promise<void> {
    await this.#env.forEach(WINDOWS, ({ key, value }) => {
      for (const { startMs } of value as readonly Pane[]) this.#index(key, startMs);
    });
  }

  take(batch: Batch): void {
    const { items, times } = batch;
    const { length } = items;
    const late: number[] = [];
    let at = 0;
    for (;;) {
      try {
        for (; at < length; at += 1) {
          const timeMs = times?.[at];
          if (timeMs === undefined) throw badRecord('the item has no event time');
          if (timeMs <= this.watermarkMs) late.push(at);
          else this.#add(batch.keys?.[at] as Key, items[at], timeMs);
        }
        break;
      } catch (thrown) {
        refuse(batch, at, this.#env, thrown, () => {});
        at += 1;
      }
    }
    if (late.length === 0) return;
    this.#env.counters.late += late.length;
    const isLate = new Set(late);
    this.#env.late?.take(
      select(batch, (each) => isLate.has(each)),
      0,
    );
  }

  /** The old value is kept aside by `edit` if a checkpoint still needs it, so it may change in place. */
  #add(key: Key, item: unknown, timeMs: number): void {
    const { sizeMs, offsetMs } = this.#rules.window;
    const startMs = Math.floor((timeMs - offsetMs) / sizeMs) * sizeMs + offsetMs;
    const cells = this.#cells;
    const cell = cells.edit(key);
    if (cell === undefined) {
      const value = this.#rules.add(this.#rules.initial(), item);
      cells.insert(key, [{ startMs, value }], undefined);
      this.#index(key, startMs);
      return;
    }
    const panes = cells.valueAt(cell) as Pane[];
    for (const pane of panes) {
      if (pane.startMs !== startMs) continue;
      pane.value = this.#rules.add(pane.value, item);
      cells.change(cell, panes, undefined);
      return;
    }
    const { value: panesMax } = streamsLimits.windowsPerKeyMax;
    if (panes.length >= panesMax) throw badRecord(`the key has ${panesMax} open windows`);
    const value = this.#rules.add(this.#rules.initial(), item);
    const before = panes.findLastIndex((pane) => pane.startMs < startMs);
    cells.change(cell, panes.toSpliced(before + 1, 0, { startMs, value }), undefined);
    this.#index(key, startMs);
  }

  #index(key: Key, startMs: number): void {
    const endMs = startMs + this.#rules.window.sizeMs;
    const keys = this.#keysByEnd.get(endMs);
    if (keys !== undefined) keys.push(key);
    else {
      this.#keysByEnd.set(endMs, [key]);
      this.#ends.push(endMs);
    }
  }

  protected override reach(ms: number): void {
    for (let endMs = this.#ends.top; endMs !== undefined; endMs = this.#ends.top) {
      if (ms < endMs - 1) break;
      this.#ends.pop();
      this.#close(endMs);
    }
    this.forward(ms);
  }

  #close(endMs: number): void {
    const { keyGroups } = this.#env;
    const keys = (this.#keysByEnd.get(endMs) ?? [])
      .map((key) => ({ key, group: groupOf(key, keyGroups) }))
      .sort((left, right) => left.group - right.group || compareKeys(left.key, right.key));
    this.#keysByEnd.delete(endMs);
    const startMs = endMs - this.#rules.window.sizeMs;
    const out = new BatchBuilder();
    for (const { key } of keys) {
      const value = this.#takePane(key, startMs);
      out.push({ key, startMs, endMs, value }, key, endMs, 0, endMs - 1);
      if (out.length >= streamsLimits.batchItemsMax.value) this.#flush(out);
    }
    this.#flush(out);
  }

  #flush(out: BatchBuilder): void {
    if (out.length > 0) this.emit(out.take(`timer:${this.name}`, 0, this.name));
  }

  #takePane(key: Key, startMs: number): unknown {
    const cell = this.#cells.edit(key);
    const panes = cell === undefined ? [] : (this.#cells.valueAt(cell) as Pane[]);
    const pane = panes.find((each) => each.startMs === startMs);
    const rest = panes.filter((each) => each !== pane);
    if (rest.length === 0) this.#cells.remove(cell);
    else this.#cells.change(cell, rest, undefined);
    return pane?.value;
  }
}
