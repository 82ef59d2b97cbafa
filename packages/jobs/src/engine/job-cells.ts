// All cells of a job in memory, by tag and task, and the aggregates of the four scopes.
//
// Cells are stored in blocks of 256 consecutive tasks, allocated when one of them first writes. A block remembers its
// lowest and its worst cell, and searches for one again only after that cell itself was written. So a write costs next
// to nothing, and an aggregate little more than a visit to each block.
//
// J12  The aggregates equal the naive fold at every revision. Ties go to the lowest task, then to the lowest tag.
import { assert } from '@syncline/kernel';
import type { JobInfo, Progress, Scope, State } from '../job.js';
import { compareTags, defaultState, JobStatus, severityOf, statusClass } from '../job.js';
import {
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

type RankOf = (status: number) => number;
const numberOf: RankOf = (status) => status;

function firstOf(cells: readonly Cell[], rankOf: RankOf): Cell {
  const compare = (a: Cell, b: Cell) =>
    rankOf(a.status) - rankOf(b.status) || a.taskId - b.taskId || compareTags(a.tag, b.tag);
  const [cell, ...others] = cells;
  assert(cell !== undefined, 'J12: every scope has a cell');
  return others.reduce((first, other) => (compare(other, first) < 0 ? other : first), cell);
}

const BLOCK_TASKS = 256;
/** Memory of a block: status, revision, progress and object overhead. */
const BLOCK_BYTES = 16 * BLOCK_TASKS + 500;

class CellBlock {
  readonly statuses = new Int32Array(BLOCK_TASKS);
  /** 0: never written. */
  readonly revisions = new Float64Array(BLOCK_TASKS);
  readonly units = new Uint32Array(BLOCK_TASKS);
  /** By rank, the first slot of the lowest rank. No entry: it has to be searched. */
  readonly #firsts = new Map<RankOf, number>();

  set(slot: number, revision: number, status: number, units: number): void {
    this.statuses[slot] = status;
    this.revisions[slot] = revision;
    this.units[slot] = units;
    for (const [rankOf, first] of this.#firsts) {
      if (first === slot) this.#firsts.delete(rankOf);
      else if (this.#isBefore(slot, first, rankOf)) this.#firsts.set(rankOf, slot);
    }
  }

  /** The written slot with the lowest rank. A block has one: it is allocated for a write. */
  first(rankOf: RankOf): number {
    const known = this.#firsts.get(rankOf);
    if (known !== undefined) return known;
    let first = this.revisions.findIndex((revision) => revision > 0);
    for (let slot = first + 1; slot < BLOCK_TASKS; slot += 1)
      if (this.revisions[slot] !== 0 && this.#isBefore(slot, first, rankOf)) first = slot;
    this.#firsts.set(rankOf, first);
    return first;
  }

  #isBefore(a: number, b: number, rankOf: RankOf): boolean {
    return (rankOf(this.statuses[a] ?? 0) - rankOf(this.statuses[b] ?? 0) || a - b) < 0;
  }
}

class TagCells {
  readonly tag: string;
  readonly #numTasks: number;
  readonly counts = new ClassCounts();
  readonly #blocks: (CellBlock | undefined)[] = [];
  blocksCount = 0;
  #firstUnwritten = 0;

  constructor(tag: string, numTasks: number) {
    this.tag = tag;
    this.#numTasks = numTasks;
  }

  /** The cell of the lowest task that never wrote this tag. States are never removed, so this task only rises. */
  get firstUnwritten(): readonly Cell[] {
    while (this.revisionOf(this.#firstUnwritten) > 0) this.#firstUnwritten += 1;
    if (this.#firstUnwritten === this.#numTasks) return [];
    return [{ taskId: this.#firstUnwritten, tag: this.tag, status: JobStatus.notStarted }];
  }

  revisionOf(taskId: number): number {
    return this.#blocks[Math.floor(taskId / BLOCK_TASKS)]?.revisions[taskId % BLOCK_TASKS] ?? 0;
  }

  at(taskId: number): { readonly status: number; readonly units: number } {
    const block = this.#blocks[Math.floor(taskId / BLOCK_TASKS)];
    const slot = taskId % BLOCK_TASKS;
    return { status: block?.statuses[slot] ?? 0, units: block?.units[slot] ?? 0 };
  }

  set(taskId: number, revision: number, status: number, units: number): void {
    const index = Math.floor(taskId / BLOCK_TASKS);
    const slot = taskId % BLOCK_TASKS;
    const block = this.#blocks[index] ?? new CellBlock();
    if (this.#blocks[index] === undefined) this.blocksCount += 1;
    this.#blocks[index] = block;
    if (block.revisions[slot] !== 0)
      this.counts.add(block.statuses[slot] ?? 0, block.units[slot] ?? 0, -1);
    this.counts.add(status, units);
    block.set(slot, revision, status, units);
  }

  first(rankOf: RankOf): Cell | undefined {
    let first: Cell | undefined;
    for (const [index, block] of this.#blocks.entries()) {
      if (!block) continue;
      const slot = block.first(rankOf);
      const status = block.statuses[slot] ?? 0;
      if (first && rankOf(status) >= rankOf(first.status)) continue;
      first = { taskId: index * BLOCK_TASKS + slot, tag: this.tag, status };
    }
    return first;
  }

  *written(): Generator<number> {
    for (const [index, block] of this.#blocks.entries()) {
      for (let slot = 0; block && slot < BLOCK_TASKS; slot += 1)
        if (block.revisions[slot] !== 0) yield index * BLOCK_TASKS + slot;
    }
  }
}

export class JobCells {
  readonly #numTasks: number;
  readonly #tags = new Map<string, TagCells>();
  /** 1 for each task that has written. The others count as one cell each if no tag is expected. */
  readonly #writers: Uint8Array;
  readonly lostTasks = new Set<number>();
  #expected: ReadonlySet<string> = new Set();
  #sortedTags: readonly TagCells[] | undefined;
  #silentTasks: number;

  constructor({ numTasks, expectedTags }: Pick<JobInfo, 'numTasks' | 'expectedTags'>) {
    this.#numTasks = numTasks;
    this.#silentTasks = numTasks;
    this.#writers = new Uint8Array(numTasks);
    this.setExpectedTags(expectedTags);
  }

  get size(): number {
    return [...this.#tags.keys()].filter((tag) => this.has(tag)).length;
  }

  has(tag: string): boolean {
    return this.writtenCount(tag) > 0;
  }

  get bytes(): number {
    let bytes = this.#numTasks + 64 * this.lostTasks.size;
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
    return this.#writers[taskId] === 1;
  }

  *written({ taskId, tag }: Scope): Generator<Required<Scope>> {
    for (const cells of this.#tags.values()) {
      if (tag !== undefined && tag !== cells.tag) continue;
      for (const each of taskId === undefined ? cells.written() : [taskId])
        if (cells.revisionOf(each) > 0) yield { taskId: each, tag: cells.tag };
    }
  }

  set(place: Required<Scope> & { readonly revision: number }, status: number, progress = 0): void {
    const { taskId, tag, revision } = place;
    if (!this.hasWritten(taskId)) this.#silentTasks -= 1;
    this.#writers[taskId] = 1;
    this.#tagCells(tag).set(taskId, revision, status, progressUnits(status, progress));
  }

  setExpectedTags(expectedTags: readonly string[]): void {
    this.#expected = new Set(expectedTags);
    this.#sortedTags = undefined;
    for (const [tag, { counts }] of this.#tags)
      if (counts.total === 0 && !this.#expected.has(tag)) this.#tags.delete(tag);
    for (const tag of expectedTags) this.#tagCells(tag);
  }

  setLost(taskId: number, isLost: boolean): void {
    if (isLost) this.lostTasks.add(taskId);
    else this.lostTasks.delete(taskId);
  }

  /** Whether a cell of the task is neither finished nor failed. */
  hasUnfinished(taskId: number): boolean {
    const isDone = ({ status }: Cell) => ['finished', 'failed'].includes(statusClass(status));
    return !this.#cellsOfTask(taskId).every(isDone);
  }

  writtenCount(tag: string): number {
    return this.#tags.get(tag)?.counts.total ?? 0;
  }

  /** Everything but `versions` and `epochs`, which the caller must set. */
  recount(): CellCounts {
    const counts = new CellCounts(this.#silentTasks);
    for (const cells of this.#tags.values()) {
      counts.addAll(cells.counts);
      if (this.#expected.has(cells.tag)) counts.expectedWritten += cells.counts.total;
    }
    counts.lostTasks = this.lostTasks.size;
    return counts;
  }

  summary({ taskId, tag }: Scope): ScopeSummary {
    if (taskId !== undefined) {
      const cells = tag === undefined ? this.#cellsOfTask(taskId) : [this.#cellOf(taskId, tag)];
      const tags = cells.filter((cell) => cell.tag !== '');
      const rows = tags.map((cell) => ({ tag: cell.tag, ...this.#summaryOfCells([cell]) }));
      const lostTasks = Number(this.lostTasks.has(taskId));
      return { ...this.#summaryOfCells(cells), lostTasks, tags: rows };
    }
    const { size: lostTasks } = this.lostTasks;
    if (tag !== undefined) {
      const row = this.#summaryOfTag(this.#tags.get(tag) ?? new TagCells(tag, this.#numTasks));
      return { ...row, lostTasks, tags: [{ tag, ...row }] };
    }
    const tags = this.#inOrder().map((cells) => ({ tag: cells.tag, ...this.#summaryOfTag(cells) }));
    return { ...this.#summaryOfAll(), lostTasks, tags };
  }

  #summaryOfAll(): CellsSummary {
    const expectedTags = [...this.#expected];
    const counts = this.recount().all({ numTasks: this.#numTasks, expectedTags });
    const unwritten = expectedTags.flatMap((tag) => this.#tagCells(tag).firstUnwritten);
    if (expectedTags.length === 0 && this.#silentTasks > 0)
      unwritten.push({ taskId: this.#writers.indexOf(0), tag: '', status: JobStatus.notStarted });
    return summaryOf(counts, unwritten, [...this.#tags.values()]);
  }

  /** In the scope of a tag, every task has a cell. */
  #summaryOfTag(cells: TagCells): CellsSummary {
    const counts = new ClassCounts();
    counts.addAll(cells.counts);
    counts.notStarted += this.#numTasks - cells.counts.total;
    return summaryOf(counts, cells.firstUnwritten, [cells]);
  }

  #summaryOfCells(list: readonly Cell[]): CellsSummary {
    const counts = new ClassCounts();
    for (const { taskId, tag, status } of list)
      counts.add(status, this.#tags.get(tag)?.at(taskId).units ?? 0);
    return summaryOf(counts, list);
  }

  #cellsOfTask(taskId: number): readonly Cell[] {
    const cells = this.#inOrder()
      .filter(({ tag }) => this.#expected.has(tag) || this.revisionOf(taskId, tag) > 0)
      .map(({ tag }) => this.#cellOf(taskId, tag));
    return cells.length > 0 ? cells : [{ taskId, tag: '', status: JobStatus.notStarted }];
  }

  #cellOf(taskId: number, tag: string): Cell {
    return { taskId, tag, status: this.#tags.get(tag)?.at(taskId).status ?? JobStatus.notStarted };
  }

  #inOrder(): readonly TagCells[] {
    this.#sortedTags ??= [...this.#tags.values()].sort((a, b) => compareTags(a.tag, b.tag));
    return this.#sortedTags;
  }

  #tagCells(tag: string): TagCells {
    const known = this.#tags.get(tag);
    if (known) return known;
    const cells = new TagCells(tag, this.#numTasks);
    this.#tags.set(tag, cells);
    this.#sortedTags = undefined;
    return cells;
  }
}

/** `cells`, and all written ones of `tags`. */
function summaryOf(
  counts: ClassCounts,
  cells: readonly Cell[],
  tags: readonly TagCells[] = [],
): CellsSummary {
  const firstBy = (rankOf: RankOf) =>
    firstOf([...cells, ...tags.flatMap((each) => each.first(rankOf) ?? [])], rankOf);
  const lowest = firstBy(numberOf);
  const worst = firstBy(severityOf);
  return { cells: counts.toCounts(), percent: counts.percent(), lowest, worst };
}

export interface AggregateInput {
  readonly job: Pick<JobInfo, 'jobId' | 'numTasks' | 'expectedTags' | 'revision'>;
  /** The latest state of each key. */
  readonly states: Iterable<State>;
  readonly lostTaskIds: Iterable<number>;
}

/** Computes progress from a list of states, for stores that can only list. All input must come from the same read. */
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
  return progressOf(job.revision, cells.summary(scope), stateOf);
}
