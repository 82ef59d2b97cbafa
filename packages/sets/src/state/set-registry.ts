// Name to set in memory, and the order in which sets were used.
import type { ByteList } from '../byte-list.js';
import type { MemorySet } from './memory-set.js';

export declare class SetRegistry {
  /** Sets in memory. */
  readonly size: number;
  /** The one not used for longest; go on by `newer`. */
  readonly oldest: MemorySet | undefined;
  /** Undefined when it is not in memory. Counts as use. */
  find(list: ByteList, index: number): MemorySet | undefined;
}
