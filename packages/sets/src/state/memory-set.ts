// One set in memory: its name, how many members it has, and what is known of them.
//
// Its table is *whole* when a member that is not in it is absent. Otherwise it holds only what is not
// folded yet, and the storage must be asked. A set that the storage does not know is whole from birth.
import type { Watcher } from '../keyspace.js';
import type { MemberTable } from '../memory/member-table.js';
import type { Position } from './storage-keys.js';

export class MemorySet {
  readonly name: Uint8Array;
  readonly table: MemberTable;
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
  /** Rows that are absent and stay in the table only because the set is being loaded. */
  absentRows: Set<number> | undefined = undefined;
  /** How far `unload` has come; 0 when it is not under way. */
  unloadPosition = 0;
  /** Its number while it is in memory, for lists that hold numbers. */
  slot = 0;
  /** The serial number of the generation of the head that has listed it last. */
  listedIn = 0;
  /** Neighbours in the order of use; kept by the registry. */
  older: MemorySet | undefined = undefined;
  newer: MemorySet | undefined = undefined;

  constructor(name: Uint8Array, position: Position, cardinality: number, table: MemberTable) {
    this.name = name;
    this.positionHigh = position.high;
    this.positionLow = position.low;
    this.cardinality = cardinality;
    this.isWhole = cardinality === 0;
    this.table = table;
  }

  /** Nothing but memory would be lost if it were forgotten. */
  get isClean(): boolean {
    return this.headEntries === 0 && !this.isLoading && this.watchers === undefined;
  }
}
