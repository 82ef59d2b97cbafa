// The aggregates of one job, kept up to date with every change: counts per class, the lowest and the worst
// cell, for each of the four scopes. A question costs no more than a look at each tag and block.
//
// J12  They equal the naive fold (`aggregateStates`) at every revision.
import type { Counts } from '../progress.js';
import type { Scope } from '../state.js';
import { JobStatus, statusClass } from '../status.js';
import { compareTags } from '../tag-order.js';
import { BestCells, type Cell } from './best-cell.js';
import { ClassCounts } from './class-counts.js';
import { TagCells } from './tag-cells.js';

export interface CellsSummary {
  readonly cells: Counts;
  readonly lowest: Cell;
  readonly worst: Cell;
}

export interface ScopeSummary extends CellsSummary {
  readonly lostTasks: number;
  readonly tags: readonly (CellsSummary & { readonly tag: string })[];
}

export class JobAggregates {
  readonly #numTasks: number;
  readonly #tags = new Map<string, TagCells>();
  /** How many tags a task has written. A task that has none counts as one cell that is not started. */
  readonly #tagsOfTask: Uint16Array;
  readonly #lost = new Set<number>();
  #expected: ReadonlySet<string>;
  #sortedTags: readonly TagCells[] | undefined;
  #silentTasks: number;
  #firstSilent = 0;

  constructor(job: { readonly numTasks: number; readonly expectedTags: readonly string[] }) {
    this.#numTasks = job.numTasks;
    this.#tagsOfTask = new Uint16Array(job.numTasks);
    this.#silentTasks = job.numTasks;
    this.#expected = new Set(job.expectedTags);
    this.setExpectedTags(job.expectedTags);
  }

  get lostTasks(): ReadonlySet<number> {
    return this.#lost;
  }

  /** What it takes in memory, about. */
  get bytes(): number {
    let bytes = 2 * this.#numTasks + 64 * this.#lost.size;
    for (const cells of this.#tags.values()) bytes += cells.bytes;
    return bytes;
  }

  set(taskId: number, tag: string, status: number): void {
    if (!this.#tagCells(tag).set(taskId, status)) return;
    const before = this.#tagsOfTask[taskId] ?? 0;
    this.#tagsOfTask[taskId] = before + 1;
    if (before === 0) this.#silentTasks -= 1;
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

  /** Of the whole job. */
  counts(): Counts {
    const counts = new ClassCounts();
    for (const cells of this.#tags.values()) {
      counts.addAll(cells.counts);
      if (this.#expected.has(cells.tag)) counts.notStarted += this.#numTasks - cells.writtenCount;
    }
    if (this.#expected.size === 0) counts.notStarted += this.#silentTasks;
    return counts.toCounts();
  }

  summary({ taskId, tag }: Scope): ScopeSummary {
    const lostTasks = taskId === undefined ? this.#lost.size : Number(this.#lost.has(taskId));
    if (taskId !== undefined) {
      const cells = tag === undefined ? this.#cellsOfTask(taskId) : [this.#cellOf(taskId, tag)];
      const tags = cells.filter((cell) => cell.tag !== '');
      const rows = tags.map((cell) => ({ tag: cell.tag, ...summaryOf([cell]) }));
      return { ...summaryOf(cells), lostTasks, tags: rows };
    }
    if (tag !== undefined) {
      const row = this.#summaryOfTag(this.#tags.get(tag) ?? new TagCells(tag));
      return { ...row, lostTasks, tags: [{ tag, ...row }] };
    }
    const tags = this.#inOrder().map((cells) => ({ tag: cells.tag, ...this.#summaryOfTag(cells) }));
    return { ...this.#summaryOfAll(), lostTasks, tags };
  }

  #summaryOfAll(): CellsSummary {
    const best = new BestCells();
    for (const cells of this.#tags.values()) {
      for (const cell of cells.leaders()) best.offer(cell);
      if (this.#expected.has(cells.tag)) this.#offerUnwritten(cells, best);
    }
    if (this.#expected.size === 0 && this.#silentTasks > 0) {
      best.offer({ taskId: this.#firstSilentTask(), tag: '', status: JobStatus.notStarted });
    }
    return { cells: this.counts(), lowest: best.lowest, worst: best.worst };
  }

  /** Asked for a tag, every task has a cell. */
  #summaryOfTag(cells: TagCells): CellsSummary {
    const counts = new ClassCounts();
    counts.addAll(cells.counts);
    counts.notStarted += this.#numTasks - cells.writtenCount;
    const best = new BestCells();
    for (const cell of cells.leaders()) best.offer(cell);
    this.#offerUnwritten(cells, best);
    return { cells: counts.toCounts(), lowest: best.lowest, worst: best.worst };
  }

  #offerUnwritten(cells: TagCells, best: BestCells): void {
    if (cells.writtenCount === this.#numTasks) return;
    best.offer({ taskId: cells.firstUnwritten, tag: cells.tag, status: JobStatus.notStarted });
  }

  #cellsOfTask(taskId: number): readonly Cell[] {
    const cells: Cell[] = [];
    for (const { tag } of this.#inOrder().filter((c) => this.#isCell(taskId, c))) {
      cells.push(this.#cellOf(taskId, tag));
    }
    return cells.length > 0 ? cells : [{ taskId, tag: '', status: JobStatus.notStarted }];
  }

  #isCell(taskId: number, cells: TagCells): boolean {
    return this.#expected.has(cells.tag) || cells.statusOf(taskId) !== undefined;
  }

  #cellOf(taskId: number, tag: string): Cell {
    const status = this.#tags.get(tag)?.statusOf(taskId) ?? JobStatus.notStarted;
    return { taskId, tag, status };
  }

  #firstSilentTask(): number {
    while (this.#tagsOfTask[this.#firstSilent] !== 0) this.#firstSilent += 1;
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

function summaryOf(list: readonly Cell[]): CellsSummary {
  const counts = new ClassCounts();
  const best = new BestCells();
  for (const cell of list) {
    counts.add(cell.status);
    best.offer(cell);
  }
  return { cells: counts.toCounts(), lowest: best.lowest, worst: best.worst };
}
