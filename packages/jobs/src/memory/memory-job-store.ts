// The jobs of one process, in memory: for tests, for `--memory`, and for programs that need no more. Everything is
// gone with the process. It is the smallest adapter of the store kit.
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import type { CellRow, JobRow, TaskRow } from '../core/rows.js';
import { EngineJobStore } from '../engine/engine-job-store.js';
import { type EngineDeps, JobEngine } from '../engine/job-engine.js';
import { changeTopics, type JobFilter, matchesFilter } from '../engine/job-filter.js';
import type {
  CellRef,
  Commit,
  CommitRequest,
  CommitRows,
  JobHead,
  JobRows,
  ListedJob,
  MirroredJob,
  StoreAdapter,
  StoreStart,
  StoreView,
} from '../engine/store-adapter.js';
import type { StoredChange } from '../engine/stored-change.js';
import type { JobStore, StoreCapabilities } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import { LatestChanges } from './latest-changes.js';

export type MemoryJobStoreDeps = EngineDeps;

export interface MemoryJobStoreOptions {
  /** Changes of a job that are kept for readers that are behind. Default `memoryRevisionsMax`. */
  readonly revisionsMax?: number;
}

const START: StoreStart = { jobsCount: 0, logRecords: 0, generation: 0, heldLeases: [] };

export function createMemoryJobStore(
  deps: Partial<MemoryJobStoreDeps> = {},
  { revisionsMax = jobsLimits.memoryRevisionsMax.value }: MemoryJobStoreOptions = {},
): JobStore {
  const {
    clock = createSystemClock(),
    random = createSystemRandom(),
    logger = silentLogger,
    metrics = silentMetrics,
  } = deps;
  const all = { clock, random, logger, metrics };
  const options = { memoryRevisionsMax: revisionsMax };
  return new EngineJobStore(new JobEngine(new MemoryAdapter(), all, options, START), all);
}

interface MemoryJob {
  row: JobRow;
  head: JobHead;
  readonly tasks: Map<number, TaskRow>;
  readonly cells: Map<string, { readonly taskId: number; readonly tag: string; row: CellRow }>;
  readonly latest: LatestChanges<StoredChange>;
}

type Job = MirroredJob<MemoryJob>;

class MemoryAdapter implements StoreAdapter<MemoryJob> {
  readonly capabilities: StoreCapabilities = {
    history: 'all',
    reads: 'linearizable',
    durability: 'none',
    lost: 'store',
  };
  /** The engine keeps recent changes for readers that are behind; there is no other history. */
  readonly compacts = false;
  readonly #jobs = new Map<string, MemoryJob>();

  async start(): Promise<StoreStart> {
    return START;
  }

  async loadJob(jobId: string): Promise<JobRows<MemoryJob> | undefined> {
    const job = this.#jobs.get(jobId);
    if (!job) return undefined;
    const cells = Array.from(job.cells.values(), ({ taskId, tag, row }) => ({
      taskId,
      tag,
      ...row,
    }));
    return { row: job.row, head: job.head, tasks: job.tasks.values(), cells, handle: job };
  }

  async commit(
    _: readonly CommitRequest[],
    decide: (rows: CommitRows<MemoryJob>) => Commit<MemoryJob> | undefined,
  ): Promise<void> {
    const commit = decide({
      jobsCount: this.#jobs.size,
      cell: ({ handle }, taskId, tag) => handle.cells.get(cellName(taskId, tag))?.row,
      state: (job, taskId, tag) => latestState(job, taskId, tag),
    });
    for (const change of commit?.jobs ?? []) {
      const { kind, row, head } = change;
      if (kind === 'delete') {
        this.#jobs.delete(row.jobId);
        continue;
      }
      if (kind === 'create') {
        const created = {
          row,
          head,
          tasks: new Map(),
          cells: new Map(),
          latest: new LatestChanges<StoredChange>(),
        };
        change.handle = created;
        this.#jobs.set(row.jobId, created);
      }
      const job = change.handle as MemoryJob;
      job.row = row;
      job.head = head;
      for (const task of change.tasks) job.tasks.set(task.taskId, task);
      for (const { taskId, tag, row: cell } of change.cells)
        job.cells.set(cellName(taskId, tag), { taskId, tag, row: cell });
      for (const stored of change.changes) job.latest.put(changeTopics(stored)[0] ?? '', stored);
    }
  }

  readStates(job: Job, cells: readonly CellRef[]): readonly Uint8Array[] {
    return cells.map(({ taskId, tag }) => latestState(job, taskId, tag));
  }

  openView({ head, handle }: Job): StoreView {
    const { revision } = head;
    const latest = handle.latest.view();
    return {
      revision,
      compactedTo: revision,
      latest: (filter, after) => pagesOf(latest.above(after), filter),
      changes: (filter) => pagesOf([], filter),
      close() {},
    };
  }

  async *listJobs({
    prefix,
    after,
  }: {
    readonly prefix: string;
    readonly after: string;
  }): AsyncGenerator<readonly ListedJob[]> {
    const jobIds = [...this.#jobs.keys()].filter(
      (jobId) => jobId.startsWith(prefix) && jobId > after,
    );
    for (const jobId of jobIds.sort()) {
      const job = this.#jobs.get(jobId);
      if (job) yield [job];
    }
  }

  async close(): Promise<void> {
    this.#jobs.clear();
  }
}

function cellName(taskId: number, tag: string): string {
  return changeTopics({ kind: 'state', taskId, tag })[0] ?? '';
}

function latestState({ handle }: Job, taskId: number, tag: string): Uint8Array {
  return handle.latest.get(cellName(taskId, tag))?.bytes ?? new Uint8Array();
}

async function* pagesOf(
  changes: Iterable<StoredChange>,
  filter: JobFilter,
): AsyncGenerator<readonly StoredChange[]> {
  const { value: pageMax } = jobsLimits.listStatesMax;
  let page: StoredChange[] = [];
  for (const change of changes) {
    if (!matchesFilter(filter, change)) continue;
    page.push(change);
    if (page.length < pageMax) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
