// All tasks of one tag. Blocks are made when a task of theirs first writes, so that a tag which few tasks use
// costs little in a job of 100 000.
import type { Cell } from './best-cell.js';
import { CELL_BLOCK_BYTES, CELL_BLOCK_TASKS, CellBlock } from './cell-block.js';
import { ClassCounts } from './class-counts.js';

export class TagCells {
  readonly tag: string;
  readonly counts = new ClassCounts();
  readonly #blocks: (CellBlock | undefined)[] = [];
  #writtenCount = 0;
  #blocksCount = 0;
  #firstUnwritten = 0;

  constructor(tag: string) {
    this.tag = tag;
  }

  get writtenCount(): number {
    return this.#writtenCount;
  }

  /** The lowest task that never wrote this tag. A state never goes away, so this only rises. */
  get firstUnwritten(): number {
    while (this.statusOf(this.#firstUnwritten) !== undefined) this.#firstUnwritten += 1;
    return this.#firstUnwritten;
  }

  get bytes(): number {
    return this.#blocksCount * CELL_BLOCK_BYTES + 200;
  }

  /** Undefined if the task never wrote this tag. */
  statusOf(taskId: number): number | undefined {
    const block = this.#blocks[Math.floor(taskId / CELL_BLOCK_TASKS)];
    const slot = taskId % CELL_BLOCK_TASKS;
    return block?.isWritten(slot) ? block.statusAt(slot) : undefined;
  }

  /** Returns whether the task wrote this tag for the first time. */
  set(taskId: number, status: number): boolean {
    const before = this.statusOf(taskId);
    if (before === undefined) this.#writtenCount += 1;
    else this.counts.add(before, -1);
    this.counts.add(status);
    this.#blockOf(taskId).set(taskId % CELL_BLOCK_TASKS, status);
    return before === undefined;
  }

  /** The lowest and the worst written cell of each block. */
  *leaders(): Generator<Cell> {
    for (const [index, block] of this.#blocks.entries()) {
      if (!block) continue;
      yield this.#cellAt(index, block.lowestSlot, block);
      if (block.worstSlot !== block.lowestSlot) yield this.#cellAt(index, block.worstSlot, block);
    }
  }

  #cellAt(index: number, slot: number, block: CellBlock): Cell {
    const taskId = index * CELL_BLOCK_TASKS + slot;
    return { taskId, tag: this.tag, status: block.statusAt(slot) };
  }

  #blockOf(taskId: number): CellBlock {
    const index = Math.floor(taskId / CELL_BLOCK_TASKS);
    const block = this.#blocks[index] ?? new CellBlock();
    if (this.#blocks[index] === undefined) this.#blocksCount += 1;
    this.#blocks[index] = block;
    return block;
  }
}
