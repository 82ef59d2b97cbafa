// Operators without state: map, filter, flatMap, merge and keyBy; and the entry of a source.
import type { Key } from '../state/key.js';
import { Batch, BatchBuilder, childIndex } from './batch.js';
import { checkOutputs, eachItem, Operator, type OperatorEnv } from './operator.js';

/** Where the batches of a source enter the graph. */
export class EntryOperator extends Operator {
  take(batch: Batch): void {
    this.emit(batch);
  }

  /** The lowest watermark of the source's partitions. */
  rise(ms: number): void {
    this.forward(ms);
  }
}

export class MapOperator extends Operator {
  readonly #env: OperatorEnv;
  readonly #map: (item: unknown) => unknown;

  constructor(env: OperatorEnv, map: (item: unknown) => unknown) {
    super(env.name);
    this.#env = env;
    this.#map = map;
  }

  take(batch: Batch): void {
    const { items } = batch;
    const map = this.#map;
    const mapped = new Array<unknown>(items.length);
    const refused = new Set<number>();
    eachItem(
      batch,
      this.#env,
      (at) => {
        mapped[at] = map(items[at]);
      },
      (at) => refused.add(at),
    );
    const kept = batch.with({ items: mapped });
    this.emit(refused.size === 0 ? kept : select(kept, (at) => !refused.has(at)));
  }
}

export class FilterOperator extends Operator {
  readonly #env: OperatorEnv;
  readonly #isKept: (item: unknown) => boolean;

  constructor(env: OperatorEnv, isKept: (item: unknown) => boolean) {
    super(env.name);
    this.#env = env;
    this.#isKept = isKept;
  }

  take(batch: Batch): void {
    const isKept = this.#isKept;
    const kept = new Array<boolean>(batch.items.length).fill(false);
    let count = 0;
    const step = (at: number) => {
      if (!isKept(batch.items[at])) return;
      kept[at] = true;
      count += 1;
    };
    eachItem(batch, this.#env, step, () => {});
    if (count === batch.items.length) this.emit(batch);
    else if (count > 0) this.emit(select(batch, (at) => kept[at] === true));
  }
}

export class FlatMapOperator extends Operator {
  readonly #env: OperatorEnv;
  readonly #expand: (item: unknown) => Iterable<unknown>;

  constructor(env: OperatorEnv, expand: (item: unknown) => Iterable<unknown>) {
    super(env.name);
    this.#env = env;
    this.#expand = expand;
  }

  take(batch: Batch): void {
    const out = new BatchBuilder();
    let start = 0;
    const step = (at: number) => {
      start = out.length;
      let child = 0;
      for (const item of this.#expand(batch.items[at])) {
        checkOutputs(child);
        const index = childIndex(batch.indexAt(at), child);
        const key = batch.keys?.[at] ?? '';
        out.push(item, key, batch.rounds[at] as number, index, batch.times?.[at]);
        child += 1;
      }
    };
    eachItem(batch, this.#env, step, () => out.cut(start));
    if (out.length === 0) return;
    const { origin, epoch, emitter } = batch;
    const made = out.take(origin, epoch, emitter);
    this.emit(batch.keys === undefined ? made.with({ keys: undefined }) : made);
  }
}

/** Brings several streams together. Their items are numbered apart: they may descend from one record. */
export class MergeOperator extends Operator {
  take(batch: Batch, input: number): void {
    const isUnchanged = input === 0 && batch.indexes === undefined;
    if (isUnchanged) this.emit(batch);
    else {
      const indexes = batch.items.map((_, at) => childIndex(batch.indexAt(at), input));
      this.emit(batch.with({ indexes }));
    }
  }
}

export class KeyByOperator extends Operator {
  readonly #env: OperatorEnv;
  readonly #keyOf: (item: unknown) => Key;

  constructor(env: OperatorEnv, keyOf: (item: unknown) => Key) {
    super(env.name);
    this.#env = env;
    this.#keyOf = keyOf;
  }

  take(batch: Batch): void {
    const { items } = batch;
    const keyOf = this.#keyOf;
    const keys = new Array<Key>(items.length);
    const refused = new Set<number>();
    eachItem(
      batch,
      this.#env,
      (at) => {
        keys[at] = keyOf(items[at]);
      },
      (at) => {
        keys[at] = '';
        refused.add(at);
      },
    );
    const keyed = batch.with({ keys });
    this.emit(refused.size === 0 ? keyed : select(keyed, (at) => !refused.has(at)));
  }
}

/** The items of a batch that `isKept` picks. */
export function select(batch: Batch, isKept: (at: number) => boolean): Batch {
  const pick = <T>(list: readonly T[] | undefined) => list?.filter((_, at) => isKept(at));
  return new Batch({
    items: batch.items.filter((_, at) => isKept(at)),
    keys: pick(batch.keys),
    rounds: batch.rounds.filter((_, at) => isKept(at)),
    indexes: pick(batch.indexes),
    times: pick(batch.times),
    origin: batch.origin,
    epoch: batch.epoch,
    emitter: batch.emitter,
  });
}
