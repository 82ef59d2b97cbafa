// Tumbling windows over event time: each item belongs to one window, and a window emits once, when the watermark shows
// that it is complete.
//
// The state holds the open windows of each key. In addition, each open window lists the keys that have an item in it,
// which is derived from the state. Most keys are only in the oldest open window, and the state then holds their value
// itself: an object per key would cost a cache miss for each item.
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
import { type Batch, select } from './batch.js';
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
      `a window needs a size of at least 1 ms and an integer offset, not ${sizeMs} and ${offsetMs}`,
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

/** The value of one key in an open window, linked to its later windows. */
class Pane {
  /** If possible the object shared by all keys. */
  span: Span;
  value: unknown;
  next: Pane | undefined;

  constructor(span: Span, value: unknown, next: Pane | undefined) {
    this.span = span;
    this.value = value;
    this.next = next;
  }
}

/** Encodes the open windows of a key. They are decoded as panes. */
export class PanesCodec implements Codec<unknown> {
  readonly id: string;
  readonly version: number;
  /** The window of all values that are not panes. It may only change while there are none. */
  base: Span | undefined;
  readonly #values: Codec<unknown>;
  readonly #writer = new ByteWriter();
  #view = this.#writer.view();

  constructor(values: Codec<unknown>) {
    this.id = `windows of ${values.id}`;
    this.version = values.version;
    this.#values = values;
  }

  encode(content: unknown): Uint8Array {
    const writer = this.#writer;
    writer.clear();
    if (content instanceof Pane) {
      writer.varint(countFrom(content));
      for (let pane: Pane | undefined = content; pane !== undefined; pane = pane.next) {
        this.#write(pane.span, pane.value);
      }
    } else {
      writer.varint(1);
      this.#write(this.base, content);
    }
    // Most are as long as the previous one, and creating a view takes as long as writing the bytes.
    const isSame =
      this.#view.length === writer.length && this.#view.buffer === writer.buffer.buffer;
    if (!isSame) this.#view = writer.view();
    return this.#view;
  }

  #write(span: Span | undefined, value: unknown): void {
    assert(span !== undefined, 'a value belongs to a window');
    const bytes = this.#values.encode(value);
    checkLength(bytes.length);
    this.#writer.i64(span.startMs);
    this.#writer.varint(bytes.length);
    this.#writer.bytes(bytes);
  }

  decode(bytes: Uint8Array, version: number): Pane {
    const reader = new ByteReader('windows', bytes);
    const count = reader.varint();
    if (count === 0) reader.fail('an open window', 'none', 0);
    const read = (left: number): Pane => {
      const span = { startMs: reader.i64() };
      const value = this.#values.decode(reader.bytes(reader.varint()), version);
      return new Pane(span, value, left === 1 ? undefined : read(left - 1));
    };
    return read(count);
  }
}

function countFrom(first: Pane): number {
  let count = 1;
  for (let pane = first.next; pane !== undefined; pane = pane.next) count += 1;
  return count;
}

export interface WindowRules {
  readonly window: Tumbling;
  /** That of the state. */
  readonly panes: PanesCodec;
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
    rules.panes.base = undefined;
  }

  override async load(): Promise<void> {
    await this.#env.forEach(WINDOWS, ({ key, value }) => {
      for (let pane = this.#toPane(value); pane !== undefined; pane = pane.next) {
        const span = this.#spanAt(pane.span.startMs);
        pane.span = span;
        span.keys.push(key);
      }
    });
  }

  take(batch: Batch): void {
    const { items, keys = [], times } = batch;
    const { length } = items;
    const { watermarkMs } = this;
    this.#cells.warm(keys);
    const late: number[] = [];
    let at = 0;
    for (;;) {
      try {
        for (; at < length; at += 1) {
          const timeMs = times?.[at];
          if (timeMs === undefined) throw badRecord('the item has no event time');
          if (timeMs <= watermarkMs) late.push(at);
          else this.#add(keys[at] as Key, items[at], this.#spanOf(timeMs));
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
    this.#rules.panes.base ??= span;
    return span;
  }

  #spanOf(timeMs: number): OpenSpan {
    const last = this.#span;
    if (last !== undefined && timeMs >= last.startMs && timeMs < last.endMs) return last;
    const { sizeMs, offsetMs } = this.#rules.window;
    this.#span = this.#spanAt(Math.floor((timeMs - offsetMs) / sizeMs) * sizeMs + offsetMs);
    return this.#span;
  }

  #add(key: Key, item: unknown, span: OpenSpan): void {
    const cells = this.#cells;
    const rules = this.#rules;
    const cell = cells.edit(key);
    const content = cell === undefined ? undefined : cells.valueAt(cell);
    if (content instanceof Pane || span !== rules.panes.base) {
      this.#addPane(key, item, span, cell, content);
      return;
    }
    const before = content === undefined ? rules.initial() : content;
    const value = rules.accept(rules.add(before, item));
    const stored = value === undefined ? new Pane(span, value, undefined) : value;
    if (cell !== undefined) cells.change(cell, stored, undefined);
    else {
      cells.insert(key, stored, undefined);
      span.keys.push(key);
    }
  }

  /** Changes panes in place: `edit` has saved the old value if a checkpoint still needs it. */
  #addPane(key: Key, item: unknown, span: OpenSpan, cell: unknown, content: unknown): void {
    const cells = this.#cells;
    const rules = this.#rules;
    const first = this.#toPane(content);
    let before: Pane | undefined;
    let pane = first;
    while (pane !== undefined && pane.span.startMs < span.startMs) {
      before = pane;
      pane = pane.next;
    }
    if (pane !== undefined && pane.span.startMs === span.startMs) {
      const { value } = pane;
      pane.value = rules.accept(rules.add(value, item));
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
    const value = rules.accept(rules.add(rules.initial(), item));
    const added = new Pane(span, value, pane);
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

  #toPane(content: unknown): Pane | undefined {
    if (content === undefined || content instanceof Pane) return content;
    const { base } = this.#rules.panes;
    assert(base !== undefined, 'a value that is not a pane belongs to the base window');
    return new Pane(base, content, undefined);
  }

  protected override reach(ms: number): void {
    for (let span = this.#open.top; span !== undefined; span = this.#open.top) {
      if (ms < span.endMs - 1) break;
      this.#open.pop();
      this.#close(span);
    }
    this.forward(ms);
  }

  #close({ startMs, endMs, keys }: OpenSpan): void {
    this.#spans.delete(startMs);
    if (this.#span?.startMs === startMs) this.#span = undefined;
    const ordered = this.#inOrder(keys);
    const { value: itemsMax } = streamsLimits.batchItemsMax;
    for (let start = 0; start < ordered.length; start += itemsMax) {
      this.#emitPanes(ordered.slice(start, start + itemsMax), startMs, endMs);
    }
    const { panes } = this.#rules;
    if (panes.base?.startMs === startMs) panes.base = this.#open.top;
  }

  #inOrder(all: readonly Key[]): readonly Key[] {
    const { keyGroups } = this.#env;
    const groups = Array.from({ length: keyGroups }, () => [] as Key[]);
    for (const key of all) groups[groupOf(key, keyGroups)]?.push(key);
    const ordered: Key[] = [];
    for (const keys of groups) {
      for (const place of keyOrder(keys)) {
        ordered.push(keys[place] as Key);
      }
    }
    return ordered;
  }

  #emitPanes(keys: readonly Key[], startMs: number, endMs: number): void {
    this.#cells.warm(keys);
    const { length } = keys;
    const items = keys.map((key) => ({ key, startMs, endMs, value: this.#takePane(key, startMs) }));
    this.emit({
      items,
      keys,
      rounds: new Array<number>(length).fill(endMs),
      indexes: undefined,
      times: new Array<number>(length).fill(endMs - 1),
      origin: `timer:${this.name}`,
      epoch: 0,
      emitter: this.name,
    });
  }

  #takePane(key: Key, startMs: number): unknown {
    const cells = this.#cells;
    const cell = cells.edit(key);
    // Windows close in order, so it is the first one.
    const pane = cell === undefined ? undefined : this.#toPane(cells.valueAt(cell));
    assert(pane?.span.startMs === startMs, 'a window that closes is the first one of its key');
    if (pane.next === undefined) cells.remove(cell);
    else cells.change(cell, pane.next, undefined);
    return pane.value;
  }
}
