// All cells of a job in memory: status, progress and the revision of the latest change, by tag and task. It computes
// the aggregates of the four scopes, and knows which change is the latest of a key.
//
// Cells are stored in blocks of 256 consecutive tasks, allocated when one of them first writes. A block tracks its
// lowest and its worst cell, and rescans its 256 cells only when one of those two is written. So a write costs next to
// nothing, and an aggregate visits each tag and block once.
//
// J12  The aggregates equal the naive fold at every revision.
import type { JobInfo, Progress, Scope, State } from '../job.js';
import { compareTags, defaultState, JobStatus, severityOf, statusClass } from '../job.js';
import {
  BestCells,
  type Cell,
  CellCounts,
  type CellsSummary,
  ClassCounts,
  cellName,
  progressOf,
  progressUnits,
  type ScopeSummary,
  UNITS,
} from './cell-counts.js';

const BLOCK_TASKS = 256;
/** Memory of a block: status, revision, progress and object overhead. */
const BLOCK_BYTES = 16 * BLOCK_TASKS + 300;

class CellBlock {
  readonly statuses = new Int32Array(BLOCK_TASKS);
  /** 0: never written. */
  readonly revisions = new Float64Array(BLOCK_TASKS);
  readonly units = new Uint32Array(BLOCK_TASKS);
  lowestSlot = -1;
  worstSlot = -1;

  set(slot: number, revision: number, status: number, units: number): void {
    this.statuses[slot] = status;
    this.revisions[slot] = revision;
    this.units[slot] = units;
    this.lowestSlot = this.#placeAfter(this.lowestSlot, slot, identity);
    this.worstSlot = this.#placeAfter(this.worstSlot, slot, severityOf);
  }

  #placeAfter(holder: number, slot: number, rankOf: (status: number) => number): number {
    if (holder === -1) return slot;
    if (holder === slot) return this.#first(rankOf);
    const rank = rankOf(this.statuses[slot] ?? 0);
    const holderRank = rankOf(this.statuses[holder] ?? 0);
    return rank < holderRank || (rank === holderRank && slot < holder) ? slot : holder;
  }

  #first(rankOf: (status: number) => number): number {
    let first = -1;
    let firstRank = 0;
    for (let slot = 0; slot < BLOCK_TASKS; slot += 1) {
      if (this.revisions[slot] === 0) continue;
      const rank = rankOf(this.statuses[slot] ?? 0);
      if (first !== -1 && rank >= firstRank) continue;
      first = slot;
      firstRank = rank;
    }
    return first;
  }
}

function identity(status: number): number {
  return status;
}

class TagCells {
  readonly tag: string;
  readonly counts = new ClassCounts();
  readonly #blocks: (CellBlock | undefined)[] = [];
  blocksCount = 0;
  #firstUnwritten = 0;

  constructor(tag: string) {
    this.tag = tag;
  }

  get writtenCount(): number {
    return this.counts.total;
  }

  /** The lowest task that never wrote this tag. States are never removed, so this only rises. */
  get firstUnwritten(): number {
    while (this.revisionOf(this.#firstUnwritten) > 0) this.#firstUnwritten += 1;
    return this.#firstUnwritten;
  }

  revisionOf(taskId: number): number {
    return this.#blocks[Math.floor(taskId / BLOCK_TASKS)]?.revisions[taskId % BLOCK_TASKS] ?? 0;
  }

  /** 0 for a cell that was never written. */
  at(taskId: number): { readonly status: number; readonly units: number } {
    const block = this.#blocks[Math.floor(taskId / BLOCK_TASKS)];
    const slot = taskId % BLOCK_TASKS;
    return { status: block?.statuses[slot] ?? 0, units: block?.units[slot] ?? 0 };
  }

  set(taskId: number, revision: number, status: number, units: number): void {
    if (this.revisionOf(taskId) > 0) {
      const before = this.at(taskId);
      this.counts.add(before.status, before.units, -1);
    }
    this.counts.add(status, units);
    const index = Math.floor(taskId / BLOCK_TASKS);
    const block = this.#blocks[index] ?? new CellBlock();
    if (this.#blocks[index] === undefined) this.blocksCount += 1;
    this.#blocks[index] = block;
    block.set(taskId % BLOCK_TASKS, revision, status, units);
  }

  *leaders(): Generator<Cell> {
    for (const [index, block] of this.#blocks.entries()) {
      if (!block) continue;
      const cellAt = (slot: number): Cell => {
        return {
          taskId: index * BLOCK_TASKS + slot,
          tag: this.tag,
          status: block.statuses[slot] ?? 0,
        };
      };
      yield cellAt(block.lowestSlot);
      if (block.worstSlot !== block.lowestSlot) yield cellAt(block.worstSlot);
    }
  }

  *written(): Generator<Required<Scope>> {
    for (const [index, block] of this.#blocks.entries()) {
      for (let slot = 0; block && slot < BLOCK_TASKS; slot += 1) {
        if (block.revisions[slot] !== 0)
          yield { taskId: index * BLOCK_TASKS + slot, tag: this.tag };
      }
    }
  }
}

export class JobCells {
  readonly #numTasks: number;
  readonly #tags = new Map<string, TagCells>();
  /** Number of tags written per task. A task with none counts as one cell that is not started. */
  readonly #tagsOfTask: Uint16Array;
  readonly #lost = new Set<number>();
  #expected: ReadonlySet<string>;
  #sortedTags: readonly TagCells[] | undefined;
  #firstSilent = 0;

  constructor(job: { readonly numTasks: number; readonly expectedTags: readonly string[] }) {
    this.#numTasks = job.numTasks;
    this.#tagsOfTask = new Uint16Array(job.numTasks);
    this.#expected = new Set(job.expectedTags);
    this.setExpectedTags(job.expectedTags);
  }

  get size(): number {
    return [...this.#tags.keys()].filter((tag) => this.has(tag)).length;
  }

  has(tag: string): boolean {
    return this.writtenCount(tag) > 0;
  }

  get lostTasks(): ReadonlySet<number> {
    return this.#lost;
  }

  get bytes(): number {
    let bytes = 2 * this.#numTasks + 64 * this.#lost.size;
    for (const { blocksCount } of this.#tags.values()) bytes += 300 + BLOCK_BYTES * blocksCount;
    return bytes;
  }

  /** 0: never written. */
  revisionOf(taskId: number, tag: string): number {
    return this.#tags.get(tag)?.revisionOf(taskId) ?? 0;
  }

  /** Undefined if never written. `progress` is 0 for a finished cell. */
  cellAt(taskId: number, tag: string) {
    const cells = this.#tags.get(tag);
    const revision = cells?.revisionOf(taskId) ?? 0;
    if (!cells || revision === 0) return undefined;
    const { status, units } = cells.at(taskId);
    return { status, progress: units / UNITS, revision };
  }

  hasWritten(taskId: number): boolean {
    return this.#tagsOfTask[taskId] !== 0;
  }

  /** The written cells of a scope, in no particular order. */
  *written({ taskId, tag }: Scope): Generator<Required<Scope>> {
    const tags = tag === undefined ? this.#tags.values() : [this.#tags.get(tag)];
    for (const cells of tags) {
      if (taskId === undefined) yield* cells?.written() ?? [];
      else if (cells && cells.revisionOf(taskId) > 0) yield { taskId, tag: cells.tag };
    }
  }

  set(
    {
      taskId,
      tag,
      revision,
    }: { readonly taskId: number; readonly tag: string; readonly revision: number },
    status: number,
    progress: number | undefined,
  ): void {
    const cells = this.#tagCells(tag);
    if (cells.revisionOf(taskId) === 0)
      this.#tagsOfTask[taskId] = (this.#tagsOfTask[taskId] ?? 0) + 1;
    cells.set(taskId, revision, status, progressUnits(status, progress));
  }

  setExpectedTags(expectedTags: readonly string[]): void {
    this.#expected = new Set(expectedTags);
    this.#sortedTags = undefined;
    for (const [tag, cells] of this.#tags) {
      if (cells.writtenCount === 0 && !this.#expected.has(tag)) this.#tags.delete(tag);
    }
    for (const tag of expectedTags) this.#tagCells(tag);
  }

  setLost(taskId: number, isLost: boolean): void {
    if (isLost) this.#lost.add(taskId);
    else this.#lost.delete(taskId);
  }

  /** Whether a cell of the task is neither finished nor failed. */
  hasUnfinished(taskId: number): boolean {
    for (const { status } of this.#cellsOfTask(taskId)) {
      if (status !== JobStatus.finished && statusClass(status) !== 'failed') return true;
    }
    return false;
  }

  writtenCount(tag: string): number {
    return this.#tags.get(tag)?.writtenCount ?? 0;
  }

  /** Recounts everything but `versions` and `epochs`, which the caller must set. */
  recount(): CellCounts {
    const counts = new CellCounts(0);
    for (const cells of this.#tags.values()) {
      counts.addAll(cells.counts);
      if (this.#expected.has(cells.tag)) counts.expectedWritten += cells.writtenCount;
    }
    for (const count of this.#tagsOfTask) if (count === 0) counts.silentTasks += 1;
    counts.lostTasks = this.#lost.size;
    return counts;
  }

  /** `all`: the counts of the whole job, from its head. */
  summary({ taskId, tag }: Scope, all: ClassCounts): ScopeSummary {
    const lostTasks = taskId === undefined ? this.#lost.size : Number(this.#lost.has(taskId));
    if (taskId !== undefined) {
      const cells = tag === undefined ? this.#cellsOfTask(taskId) : [this.#cellOf(taskId, tag)];
      const tags = cells.filter((cell) => cell.tag !== '');
      const rows = tags.map((cell) => ({ tag: cell.tag, ...this.#summaryOf([cell]) }));
      return { ...this.#summaryOf(cells), lostTasks, tags: rows };
    }
    if (tag !== undefined) {
      const row = this.#summaryOfTag(this.#tags.get(tag) ?? new TagCells(tag));
      return { ...row, lostTasks, tags: [{ tag, ...row }] };
    }
    const tags = this.#inOrder().map((cells) => ({ tag: cells.tag, ...this.#summaryOfTag(cells) }));
    return { ...this.#summaryOfAll(all), lostTasks, tags };
  }

  #summaryOfAll(all: ClassCounts): CellsSummary {
    const best = new BestCells();
    for (const cells of this.#tags.values()) {
      for (const cell of cells.leaders()) best.offer(cell);
      if (this.#expected.has(cells.tag)) this.#offerUnwritten(cells, best);
    }
    if (this.#expected.size === 0) {
      const taskId = this.#firstSilentTask();
      if (taskId < this.#numTasks) best.offer({ taskId, tag: '', status: JobStatus.notStarted });
    }
    return summaryFrom(all, best);
  }

  /** In the scope of a tag, every task has a cell. */
  #summaryOfTag(cells: TagCells): CellsSummary {
    const counts = new ClassCounts();
    counts.addAll(cells.counts);
    counts.notStarted += this.#numTasks - cells.writtenCount;
    const best = new BestCells();
    for (const cell of cells.leaders()) best.offer(cell);
    this.#offerUnwritten(cells, best);
    return summaryFrom(counts, best);
  }

  #summaryOf(list: readonly Cell[]): CellsSummary {
    const counts = new ClassCounts();
    const best = new BestCells();
    for (const cell of list) {
      const units = this.#tags.get(cell.tag)?.at(cell.taskId).units ?? 0;
      counts.add(cell.status, units);
      best.offer(cell);
    }
    return summaryFrom(counts, best);
  }

  #offerUnwritten(cells: TagCells, best: BestCells): void {
    if (cells.writtenCount === this.#numTasks) return;
    best.offer({ taskId: cells.firstUnwritten, tag: cells.tag, status: JobStatus.notStarted });
  }

  #cellsOfTask(taskId: number): readonly Cell[] {
    const cells: Cell[] = [];
    for (const { tag } of this.#inOrder()) {
      if (this.#expected.has(tag) || this.revisionOf(taskId, tag) > 0)
        cells.push(this.#cellOf(taskId, tag));
    }
    return cells.length > 0 ? cells : [{ taskId, tag: '', status: JobStatus.notStarted }];
  }

  #cellOf(taskId: number, tag: string): Cell {
    return { taskId, tag, status: this.#tags.get(tag)?.at(taskId).status ?? JobStatus.notStarted };
  }

  #firstSilentTask(): number {
    while (this.#firstSilent < this.#numTasks && this.hasWritten(this.#firstSilent))
      this.#firstSilent += 1;
    return this.#firstSilent;
  }

  #inOrder(): readonly TagCells[] {
    this.#sortedTags ??= [...this.#tags.values()].sort((a, b) => compareTags(a.tag, b.tag));
    return this.#sortedTags;
  }

  #tagCells(tag: string): TagCells {
    const known = this.#tags.get(tag);
    if (known) return known;
    const cells = new TagCells(tag);
    this.#tags.set(tag, cells);
    this.#sortedTags = undefined;
    return cells;
  }
}

export interface AggregateInput {
  readonly job: Pick<JobInfo, 'jobId' | 'numTasks' | 'expectedTags' | 'revision'>;
  /** The latest state of each key. */
  readonly states: Iterable<State>;
  readonly lostTaskIds: Iterable<number>;
}

/**
 * Computes progress from a list of states, for stores that can only list. The input must be consistent: states and
 * revision from the same read.
 */
export function aggregateStates(
  { job, states, lostTaskIds }: AggregateInput,
  scope: Scope,
): Progress {
  const cells = new JobCells(job);
  const written = new Map<string, State>();
  for (const state of states) {
    cells.set(state, state.status, state.progress);
    written.set(cellName(state.taskId, state.tag), state);
  }
  for (const taskId of lostTaskIds) cells.setLost(taskId, true);
  const stateOf = ({ taskId, tag }: Cell): State =>
    written.get(cellName(taskId, tag)) ?? defaultState(job.jobId, taskId, tag);
  return progressOf(job.revision, cells.summary(scope, cells.recount().all(job)), stateOf);
}

function summaryFrom(counts: ClassCounts, { lowest, worst }: BestCells): CellsSummary {
  return { cells: counts.toCounts(), percent: counts.percent(), lowest, worst };
}
