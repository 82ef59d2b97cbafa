// Where the latest record of each cell lies in the log: its revision, by the number of the tag and the task.
//
// 8 bytes for each of 256 neighbouring tasks, made when one of them first writes: a job of a million cells
// takes 8 MiB. Revisions start at 1, so 0 is a cell that was never written.

const BLOCK_TASKS = 256;
const BLOCK_BYTES = BLOCK_TASKS * 8 + 100;

interface TagPlaces {
  readonly blocks: (Float64Array | undefined)[];
  writtenCount: number;
}

export class CellPlaces {
  readonly #tags: TagPlaces[] = [];
  #blocksCount = 0;
  #count = 0;

  /** Cells that were written. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#blocksCount * BLOCK_BYTES + this.#tags.length * 100;
  }

  /** 0: never written. */
  get(tagNo: number, taskId: number): number {
    const block = this.#tags[tagNo]?.blocks[Math.floor(taskId / BLOCK_TASKS)];
    return block?.[taskId % BLOCK_TASKS] ?? 0;
  }

  set(tagNo: number, taskId: number, revision: number): void {
    while (this.#tags.length <= tagNo) this.#tags.push({ blocks: [], writtenCount: 0 });
    const tag = this.#tags[tagNo] as TagPlaces;
    const index = Math.floor(taskId / BLOCK_TASKS);
    let block = tag.blocks[index];
    if (block === undefined) {
      block = new Float64Array(BLOCK_TASKS);
      tag.blocks[index] = block;
      this.#blocksCount += 1;
    }
    if (block[taskId % BLOCK_TASKS] === 0) {
      tag.writtenCount += 1;
      this.#count += 1;
    }
    block[taskId % BLOCK_TASKS] = revision;
  }

  writtenCount(tagNo: number): number {
    return this.#tags[tagNo]?.writtenCount ?? 0;
  }

  hasWritten(taskId: number): boolean {
    const index = Math.floor(taskId / BLOCK_TASKS);
    const slot = taskId % BLOCK_TASKS;
    for (const { blocks } of this.#tags) if ((blocks[index]?.[slot] ?? 0) > 0) return true;
    return false;
  }

  /** The revisions above `after` of all tasks of a tag, in no order. */
  revisionsOfTag(tagNo: number, after: number): number[] {
    const revisions: number[] = [];
    for (const block of this.#tags[tagNo]?.blocks ?? []) {
      for (const revision of block ?? []) if (revision > after) revisions.push(revision);
    }
    return revisions;
  }

  /** The revisions above `after` of all tags of a task, in no order. */
  revisionsOfTask(taskId: number, after: number): number[] {
    const revisions: number[] = [];
    for (let tagNo = 0; tagNo < this.#tags.length; tagNo += 1) {
      const revision = this.get(tagNo, taskId);
      if (revision > after) revisions.push(revision);
    }
    return revisions;
  }
}
