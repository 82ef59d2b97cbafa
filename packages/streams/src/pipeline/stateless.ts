// Stateless operators: map, filter, flatMap, merge and keyBy, and the entry point of a source.
import { checkKey, type Key } from '../state/key.js';
import { type Batch, BatchBuilder, childIndex, indexAt, select } from './batch.js';
import {
  checkNoPromise,
  checkOutputs,
  eachItem,
  Operator,
  type OperatorEnv,
  type Watermark,
} from './operator.js';

/** Where the batches of a source enter the graph. */
export class EntryOperator extends Operator {
  take(batch: Batch): void {
    this.emit(batch);
  }

  /** Forwards the lowest watermark of the source's partitions, or idleness if all are idle. */
  advanceWatermark(watermark: Watermark): void {
    if (watermark === 'idle') this.forwardIdle();
    else this.forward(watermark);
  }
}

/** Transforms each batch with a function. Empty results are not emitted. */
class StatelessOperator extends Operator {
  readonly #make: (batch: Batch, input: number) => Batch;

  constructor(name: string, make: (batch: Batch, input: number) => Batch) {
    super(name);
    this.#make = make;
  }

  take(batch: Batch, input: number): void {
    const made = this.#make(batch, input);
    if (made.items.length > 0) this.emit(made);
  }
}

export function mapItems(env: OperatorEnv, map: (item: unknown) => unknown): Operator {
  return new StatelessOperator(env.name, (batch) => {
    const { made, kept } = applyToEach(batch, env, (item) => {
      const result = map(item);
      checkNoPromise(result);
      return result;
    });
    return kept({ ...batch, items: made });
  });
}

export function keyItems(env: OperatorEnv, keyOf: (item: unknown) => Key): Operator {
  return new StatelessOperator(env.name, (batch) => {
    const { made, kept } = applyToEach(batch, env, (item) => {
      const key: unknown = keyOf(item);
      if (typeof key === 'object') checkNoPromise(key);
      checkKey(key);
      return key as Key;
    });
    return kept({ ...batch, keys: made });
  });
}

export function filterItems(env: OperatorEnv, isKept: (item: unknown) => boolean): Operator {
  return new StatelessOperator(env.name, (batch) => {
    const places: number[] = [];
    const step = (at: number) => {
      const result: unknown = isKept(batch.items[at]);
      checkNoPromise(result);
      if (result) places.push(at);
    };
    eachItem(batch, env, step, () => {});
    return select(batch, places);
  });
}

export function expandItems(
  env: OperatorEnv,
  expand: (item: unknown) => Iterable<unknown>,
): Operator {
  return new StatelessOperator(env.name, (batch) => {
    const out = new BatchBuilder();
    let start = 0;
    const step = (at: number) => {
      start = out.length;
      let child = 0;
      const items = expand(batch.items[at]);
      checkNoPromise(items);
      for (const item of items) {
        checkNoPromise(item);
        checkOutputs(child);
        const index = childIndex(indexAt(batch, at), child);
        const key = batch.keys?.[at] ?? '';
        out.push(item, key, batch.rounds[at] as number, index, batch.times?.[at]);
        child += 1;
      }
    };
    eachItem(batch, env, step, () => out.cut(start));
    const { origin, epoch, emitter } = batch;
    const made = out.take(origin, epoch, emitter);
    return batch.keys === undefined ? { ...made, keys: undefined } : made;
  });
}

/** Merges several streams. The indexes of each input differ, since items may descend from the same record. */
export function mergeStreams({ name }: OperatorEnv): Operator {
  return new StatelessOperator(name, (batch, input) => {
    if (input === 0 && batch.indexes === undefined) return batch;
    const indexes = batch.items.map((_, at) => childIndex(indexAt(batch, at), input));
    return { ...batch, indexes };
  });
}

/** Applies `fn` to each item. `kept` removes the rejected items from a batch. */
function applyToEach<T>(batch: Batch, env: OperatorEnv, fn: (item: unknown) => T) {
  const { items } = batch;
  const made = new Array<T>(items.length);
  const refused = new Set<number>();
  const step = (at: number) => {
    made[at] = fn(items[at]);
  };
  eachItem(batch, env, step, (at) => refused.add(at));
  const kept = (whole: Batch): Batch => {
    if (refused.size === 0) return whole;
    const places = [...items.keys()].filter((at) => !refused.has(at));
    return select(whole, places);
  };
  return { made, kept };
}
