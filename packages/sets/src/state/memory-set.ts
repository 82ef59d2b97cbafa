// One set in memory: its name, how many members it has, and what is known of them.
//
// Its table is *whole* when a member that is not in it is absent. Otherwise it holds only what is not
// folded yet, and the storage must be asked. A set that the storage does not know is whole from birth.
import type { Watcher } from '../keyspace.js';

export class MemorySet {
  readonly name: Uint8Array;
  /** Position of the name in scans: the top 32 of 48 bits, and the low 16. */
  readonly positionHigh: number;
  readonly positionLow: number;
  cardinality: number;
  isWhole: boolean;
  /** Its elements are being read from a snapshot; until then no row leaves the table. */
  isLoading = false;
  /** The journal number of the last commit that changed it; 0 for none since the start. */
  commit = 0;
  /** Entries of the head that name a row of this set. While there are any it stays in memory. */
  headEntries = 0;
  /** Who is told when its visible members change. A set that is watched stays in memory. */
  watchers: Set<Watcher> | undefined = undefined;
  /** Neighbours in the order of use; kept by the registry. */
  older: MemorySet | undefined = undefined;
  newer: MemorySet | undefined = undefined;

  constructor(name: Uint8Array, positionHigh: number, positionLow: number, cardinality: number) {
    this.name = name;
    this.positionHigh = positionHigh;
    this.positionLow = positionLow;
    this.cardinality = cardinality;
    this.isWhole = cardinality === 0;
  }

  /** Nothing but memory would be lost if it were forgotten. */
  get isClean(): boolean {
    return this.headEntries === 0 && !this.isLoading && this.watchers === undefined;
  }
}
