// A source that reads from arrays, for tests and experiments. A position is an index.
import { type OptionNames, refuseUnknownOptions } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { positionLost } from './end-error.js';
import type { Source, SourceBatch } from './source.js';

export interface MemorySourceOptions<T> {
  readonly uid: string;
  /** The records of each partition. */
  readonly partitions: Readonly<Record<string, readonly T[]>>;
  /** Records per batch. Default 512. */
  readonly batchItems?: number;
  /** Called before each batch. It may throw, to test how a pipeline handles a failing source. */
  readonly beforeBatch?: (partition: string, index: number) => void | Promise<void>;
}

const OPTIONS: OptionNames<MemorySourceOptions<unknown>> = {
  uid: true,
  partitions: true,
  batchItems: true,
  beforeBatch: true,
};

export function memorySource<T>(options: MemorySourceOptions<T>): Source<T, number> {
  refuseUnknownOptions(options, 'memorySource', OPTIONS);
  const { uid, partitions, batchItems = streamsLimits.batchItemsMax.value } = options;
  const recordsOf = (partition: string) => partitions[partition] ?? [];
  const check = (partition: string, position: number) => {
    const { length } = recordsOf(partition);
    if (Number.isSafeInteger(position) && position >= 0 && position <= length) return;
    throw positionLost({ uid, partition, position, found: `it has ${length} records` });
  };
  return {
    uid,
    isFinite: true,
    async partitions() {
      return Object.keys(partitions);
    },
    async check(partition, position) {
      check(partition, position);
    },
    async *read(partition, from) {
      if (from !== null) check(partition, from);
      const records = recordsOf(partition);
      let index = from ?? 0;
      do {
        await options.beforeBatch?.(partition, index);
        const items = records.slice(index, index + batchItems);
        index += items.length;
        const end = index === records.length;
        const lagRecords = records.length - index;
        yield { items, position: index, end, lagRecords } satisfies SourceBatch<T, number>;
      } while (index < records.length);
    },
  };
}
