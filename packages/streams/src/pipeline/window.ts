// Tumbling windows over event time: each item belongs to one window, and a window emits once, when the watermark shows
// that it is complete.
//
// The state holds the open windows of each key. In addition, each open window lists the keys that have an item in it,
// which is derived from the state.
//
// X33  A window emits once, at W >= end - 1, in the order (end, key group, key bytes).
import { assert, refuseUnknownOptions, SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { ByteReader } from '../snapshot/byte-reader.js';
import { ByteWriter } from '../snapshot/byte-writer.js';
import { type Codec, checkLength } from '../state/codec.js';
import { groupOf, type Key, keyOrder } from '../state/key.js';
import { badRecord } from '../state/state-error.js';
import type { AnyCells } from '../store/pipeline-states.js';
import { type Batch, BatchBuilder, select } from './batch.js';
import { Heap } from './heap.js';
import { Operator, type OperatorEnv, refuse } from './operator.js';

export const WINDOWS = '~windows';

/** From `startMs` (inclusive) to `endMs` (exclusive). */
export interface WindowOf<K extends Key, A> {
  readonly key: K;
  readonly startMs: number;
  readonly endMs: number;
  readonly value: A;
}

export interface Tumbling {
  readonly sizeMs: number;
  /** Windows start at multiples of the size, plus this. */
  readonly offsetMs: number;
}

/** Windows of equal size without gaps or overlaps. */
export function tumbling(options: {
  readonly sizeMs: number;
  readonly offsetMs?: number;
}): Tumbling {
  refuseUnknownOptions(options, 'tumbling', { sizeMs: true, offsetMs: true });
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

/** A window, shared by all keys. */
interface Span {
  readonly startMs: number;
}

interface OpenSpan extends Span {
  readonly endMs: number;
  /** Keys that have an item in it. */
  readonly keys: Key[];
}

/** The value of one key in an open window, linked to its later windows. Most keys have only one. */
interface Pane {
  /** If possible the object shared by all keys: comparing identities avoids reading it, which saves a cache miss. */
  span: Span;
  value: unknown;
  next: Pane | undefined;
}

export function panesCodec(values: Codec<unknown>): Codec<Pane> {
  const writer = new ByteWriter();
  let view = writer.view();
  return {
    id: `windows of ${values.id}`,
    version: values.version,
    encode(first) {
      writer.clear();
      writer.varint(countFrom(first));
      for (let pane: Pane | undefined = first; pane !== undefined; pane = pane.next) {
        const bytes = values.encode(pane.value);
        checkLength(bytes.length);
        writer.i64(pane.span.startMs);
        writer.varint(bytes.length);
        writer.bytes(bytes);
      }
      // Most are as long as the previous one, and creating a view takes as long as writing the bytes.
      const isSame = view.length === writer.length && view.buffer === writer.buffer.buffer;
      if (!isSame) view = writer.view();
      return view;
    },
    decode(bytes, version) {
      const reader = new ByteReader('windows', bytes);
      const count = reader.varint();
      if (count === 0) reader.fail('an open window', 'none', 0);
      const read = (left: number): Pane => {
        const span = { startMs: reader.i64() };
        const value = values.decode(reader.bytes(reader.varint()), version);
        return { span, value, next: left === 1 ? undefined : read(left - 1) };
      };
      return read(count);
    },
  };
}

function countFrom(first: Pane): number {
  let count = 1;
  for (let pane = first.next; pane !== undefined; pane = pane.next) count += 1;
  return count;
}

export interface WindowRules {
  readonly window: Tumbling;
  initial(): unknown;
  add(value: unknown, item: unknown): unknown;
  /** The value in its restored form. Throws if it cannot be stored. */
  accept(value: unknown): unknown;
}

export class WindowOperator extends Operator {
  readonly #env: OperatorEnv;
  readonly #rules: WindowRules;
  readonly #cells: AnyCells;
  readonly #spans = new Map<number, OpenSpan>();
  readonly #open = new Heap<OpenSpan>((left, right) => left.endMs - right.endMs);
  /** The window of the last item. */
  #span: OpenSpan | undefined;

  constructor(env: OperatorEnv, rules: WindowRules) {
    super(env.name);
    this.#env = env;
    this.#rules = rules;
    this.#cells = env.cells(WINDOWS);
  }

  override async load(): Promise<void> {
    await this.#env.forEach(WINDOWS, ({ key, value }) => {
      for (let pane = value as Pane | undefined; pane !== undefined; pane = pane.next) {
        const span = this.#spanAt(pane.span.startMs);
        pane.span = span;
        span.keys.push(key);
      }
    });
  }

  take(batch: Batch): void {
    const { items, times } = batch;
    const { length } = items;
    this.#cells.warm(batch.keys ?? []);
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
    this.#env.late?.take(select(batch, late), 0);
  }

  /** The open window that starts at `startMs`. */
  #spanAt(startMs: number): OpenSpan {
    const known = this.#spans.get(startMs);
    if (known !== undefined) return known;
    const span = { startMs, endMs: startMs + this.#rules.window.sizeMs, keys: [] };
    this.#spans.set(startMs, span);
    this.#open.push(span);
    return span;
  }

  #spanOf(timeMs: number): OpenSpan {
    const last = this.#span;
    if (last !== undefined && timeMs >= last.startMs && timeMs < last.endMs) return last;
    const { sizeMs, offsetMs } = this.#rules.window;
    this.#span = this.#spanAt(Math.floor((timeMs - offsetMs) / sizeMs) * sizeMs + offsetMs);
    return this.#span;
  }

  /** Changes panes in place: `edit` has saved the old value if a checkpoint still needs it. */
  #add(key: Key, item: unknown, timeMs: number): void {
    const span = this.#spanOf(timeMs);
    const cells = this.#cells;
    const cell = cells.edit(key);
    const first = cell === undefined ? undefined : (cells.valueAt(cell) as Pane);
    let before: Pane | undefined;
    let pane = first;
    while (pane !== undefined && pane.span !== span && pane.span.startMs < span.startMs) {
      before = pane;
      pane = pane.next;
    }
    if (pane !== undefined && (pane.span === span || pane.span.startMs === span.startMs)) {
      const { value } = pane;
      pane.value = this.#rules.accept(this.#rules.add(value, item));
      try {
        cells.change(cell, first, undefined);
      } catch (thrown) {
        pane.value = value;
        throw thrown;
      }
      return;
    }
    const { value: panesMax } = streamsLimits.windowsPerKeyMax;
    if (first !== undefined && countFrom(first) >= panesMax) {
      throw badRecord(`the key has ${panesMax} open windows`);
    }
    const value = this.#rules.accept(this.#rules.add(this.#rules.initial(), item));
    const added = { span, value, next: pane };
    if (cell === undefined) cells.insert(key, added, undefined);
    else if (before === undefined) cells.change(cell, added, undefined);
    else {
      before.next = added;
      try {
        cells.change(cell, first, undefined);
      } catch (thrown) {
        before.next = pane;
        throw thrown;
      }
    }
    span.keys.push(key);
  }

  protected override reach(ms: number): void {
    for (let span = this.#open.top; span !== undefined; span = this.#open.top) {
      if (ms < span.endMs - 1) break;
      this.#open.pop();
      this.#close(span);
    }
    this.forward(ms);
  }

  #close({ startMs, endMs, keys: all }: OpenSpan): void {
    const { keyGroups } = this.#env;
    const groups = Array.from({ length: keyGroups }, () => [] as Key[]);
    for (const key of all) groups[groupOf(key, keyGroups)]?.push(key);
    this.#spans.delete(startMs);
    if (this.#span?.startMs === startMs) this.#span = undefined;
    const out = new BatchBuilder();
    for (const keys of groups) {
      for (const place of keyOrder(keys)) {
        const key = keys[place] as Key;
        const value = this.#takePane(key, startMs);
        out.push({ key, startMs, endMs, value }, key, endMs, 0, endMs - 1);
        if (out.length >= streamsLimits.batchItemsMax.value) this.#flush(out);
      }
    }
    this.#flush(out);
  }

  #flush(out: BatchBuilder): void {
    if (out.length > 0) this.emit(out.take(`timer:${this.name}`, 0, this.name));
  }

  #takePane(key: Key, startMs: number): unknown {
    const cells = this.#cells;
    const cell = cells.edit(key);
    // Windows close in order, so it is the first one.
    const pane = cell === undefined ? undefined : (cells.valueAt(cell) as Pane);
    assert(pane?.span.startMs === startMs, 'a window that closes is the first one of its key');
    if (pane.next === undefined) cells.remove(cell);
    else cells.change(cell, pane.next, undefined);
    return pane.value;
  }
}
