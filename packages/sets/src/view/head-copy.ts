// All that is not folded, as it was at one moment: the rows of the head and their sets, copied into memory of
// their own. A row says whether its member is present; a set says how many members it has.
import { ByteList } from '../byte-list.js';
import { ElementHeap } from '../memory/element-heap.js';
import type { OrderHash } from '../memory/order-hash.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_ACTOR,
  ROW_HASH_HIGH,
  ROW_HASH_LOW,
  readWord,
  writeWord,
} from '../memory/row-layout.js';
import type { MemorySet } from '../state/memory-set.js';
import { NO_DOT } from '../state/row-dots.js';
import { SetRegistry } from '../state/set-registry.js';

export interface HeadCopyOptions {
  /** The last commit that it shows. */
  readonly number: number;
  /** Sets that are not empty, folded or not. */
  readonly setsCount: number;
}

export class HeadCopy {
  readonly number: number;
  readonly setsCount: number;
  readonly registry: SetRegistry;
  /** Views that read it. */
  viewsCount = 0;
  readonly #heap = new ElementHeap();
  readonly #copies = new Map<MemorySet, MemorySet>();
  readonly #position = new Uint32Array(2);

  constructor({ hash }: { readonly hash: OrderHash }, options: HeadCopyOptions) {
    this.number = options.number;
    this.setsCount = options.setsCount;
    this.registry = new SetRegistry({ heap: this.#heap, hash });
  }

  find(name: Uint8Array): MemorySet | undefined {
    return this.registry.find(ByteList.of(name), 0);
  }

  /** Copies a row that was not copied before. */
  add(set: MemorySet, row: number): void {
    const { heap } = set.table;
    this.#position[0] = readWord(heap, row, ROW_HASH_HIGH);
    this.#position[1] = readWord(heap, row, ROW_HASH_LOW);
    const { buffer, byteOffset, length } = memberBuffer(heap, row);
    const view = new DataView(buffer, byteOffset, length);
    const { table } = this.#copyOf(set);
    const copied = table.insertBytes(this.#position, view, memberStart(row), memberEnd(heap, row));
    const isPresent = readWord(heap, row, ROW_ACTOR) !== NO_DOT;
    if (isPresent) writeWord(this.#heap, copied, ROW_ACTOR, 1);
  }

  #copyOf(set: MemorySet): MemorySet {
    const known = this.#copies.get(set);
    if (known !== undefined) return known;
    const copy = this.registry.add(ByteList.of(set.name), 0, set.cardinality);
    this.#copies.set(set, copy);
    return copy;
  }
}
