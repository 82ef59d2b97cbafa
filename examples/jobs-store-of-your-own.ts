// A job store of your own: all jobs in one JSON file, which is rewritten on every commit. It is small on purpose; the
// engine of the store kit does everything that is hard about a store, and `jobs-store-of-your-own.int.test.ts` runs
// it through the suite that our own stores pass.
//
//   npm run example -- jobs-store-of-your-own
import { type FileHandle, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createJobManager } from '@syncline/jobs';
import {
  CellCounts,
  type CellRef,
  type CellRow,
  type Commit,
  type CommitRequest,
  type CommitRows,
  type EngineDeps,
  type EngineJobStore,
  type EngineOptions,
  type JobFilter,
  type JobHead,
  type JobRow,
  type JobRows,
  type ListedJob,
  type MirroredJob,
  matchesFilter,
  openJobStore,
  type StoreAdapter,
  type StoredChange,
  type StoreStart,
  type StoreView,
  type TaskRow,
} from '@syncline/jobs/store-kit';
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';

interface FileCell {
  readonly taskId: number;
  readonly tag: string;
  readonly row: CellRow;
}

/** A job as stored in the file. It is replaced as a whole, never changed. */
interface FileJob {
  readonly row: JobRow;
  readonly head: JobHead;
  readonly tasks: ReadonlyMap<number, TaskRow>;
  readonly cells: ReadonlyMap<string, FileCell>;
  /** By revision, ascending. */
  readonly changes: ReadonlyMap<number, StoredChange>;
}

/** The engine identifies a job by its incarnation. */
type Job = MirroredJob<string>;
type Jobs = ReadonlyMap<string, FileJob>;

class FileAdapter implements StoreAdapter<string> {
  readonly capabilities = {
    history: 'all',
    reads: 'linearizable',
    durability: 'synced',
    lost: 'store',
  } as const;
  readonly #path: string;
  #jobs: Jobs = new Map();

  constructor(path: string) {
    this.#path = path;
  }

  async start(): Promise<StoreStart> {
    this.#jobs = await readJobs(this.#path);
    const jobs = [...this.#jobs.values()];
    return {
      jobsCount: jobs.length,
      logRecords: jobs.reduce((sum, { head }) => sum + head.logRecords, 0),
      generation: 0,
      heldLeases: jobs.flatMap(({ row: { jobId, incarnation }, tasks }) =>
        [...tasks.values()]
          .filter(({ state }) => state === 'held')
          .map(({ taskId, epoch, ttlMs }) => ({ jobId, incarnation, taskId, epoch, ttlMs })),
      ),
    };
  }

  async loadJob(jobId: string): Promise<JobRows<string> | undefined> {
    const job = [...this.#jobs.values()].find(({ row }) => row.jobId === jobId);
    if (!job) return undefined;
    const cells = Array.from(job.cells.values(), ({ row, ...key }) => ({ ...key, ...row }));
    const { row, head, tasks } = job;
    return { row, head, tasks: tasks.values(), cells, handle: row.incarnation };
  }

  /** First the file, then memory: a commit that fails has changed nothing. */
  async commit(
    _: readonly CommitRequest[],
    decide: (rows: CommitRows<string>) => Commit<string> | undefined,
  ): Promise<void> {
    const commit = decide({
      cell: (job, taskId, tag) => this.#find(job).cells.get(`${taskId} ${tag}`)?.row,
      state: (job, taskId, tag) => {
        const revision = job.latestRevision('state', taskId, tag);
        return this.#find(job).changes.get(revision)?.bytes ?? new Uint8Array();
      },
    });
    if (!commit) return;
    const jobs = new Map(this.#jobs);
    for (const change of commit.jobs) {
      const { row, head, kind } = change;
      const { incarnation } = row;
      const before = jobs.get(incarnation);
      jobs.delete(incarnation);
      if (kind === 'delete') continue;
      const tasks = new Map(before?.tasks);
      for (const task of change.tasks.values()) tasks.set(task.taskId, task);
      const cells = new Map(before?.cells);
      for (const { taskId, tag, row: cell } of change.cells.values())
        cells.set(`${taskId} ${tag}`, { taskId, tag, row: cell });
      const changes = new Map(before?.changes);
      for (const stored of change.changes) changes.set(stored.revision, stored);
      for (const { revision } of change.removed) changes.delete(revision);
      jobs.set(incarnation, { row, head, tasks, cells, changes });
      change.handle = incarnation;
    }
    await writeJobs(this.#path, jobs);
    this.#jobs = jobs;
  }

  readStates(job: Job, cells: readonly CellRef[]): readonly (Uint8Array | undefined)[] {
    const { changes } = this.#find(job);
    return cells.map(({ revision }) => changes.get(revision)?.bytes);
  }

  openView(job: Job, filter: JobFilter): StoreView {
    const { head, changes } = this.#find(job);
    const all = [...changes.values()];
    const latest = all.filter(
      ({ kind, taskId, tag, revision }) => job.latestRevision(kind, taskId, tag) === revision,
    );
    return {
      revision: head.revision,
      compactedTo: head.compactedTo,
      latest: (after) => onePage(latest, filter, after),
      changes: (after) => onePage(all, filter, after),
      close() {},
    };
  }

  async *listJobs({ prefix, after }: { readonly prefix: string; readonly after: string }) {
    const listed: ListedJob[] = [...this.#jobs.values()]
      .filter(({ row: { jobId } }) => jobId.startsWith(prefix) && jobId > after)
      .sort((a, b) => (a.row.jobId < b.row.jobId ? -1 : 1));
    yield listed;
  }

  async close(): Promise<void> {}

  #find({ handle }: Job): FileJob {
    const job = this.#jobs.get(handle);
    if (!job) throw new Error(`the engine requested ${handle}, which was deleted`);
    return job;
  }
}

async function* onePage(changes: readonly StoredChange[], filter: JobFilter, after: number) {
  yield changes.filter((change) => change.revision > after && matchesFilter(filter, change));
}

async function readJobs(path: string): Promise<Jobs> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]';
    throw error;
  });
  const jobs = (JSON.parse(text) as ReturnType<typeof toJson>[]).map((job): [string, FileJob] => [
    job.row.incarnation,
    {
      row: job.row,
      head: { ...job.head, counts: Object.assign(new CellCounts(0), job.head.counts) },
      tasks: new Map(job.tasks.map((task) => [task.taskId, task])),
      cells: new Map(job.cells.map((cell) => [`${cell.taskId} ${cell.tag}`, cell])),
      changes: new Map(
        job.changes.map((change) => [
          change.revision,
          { ...change, bytes: Buffer.from(change.bytes, 'base64') },
        ]),
      ),
    },
  ]);
  return new Map(jobs);
}

function toJson({ row, head, tasks, cells, changes }: FileJob) {
  const encoded = Array.from(changes.values(), ({ bytes, ...change }) => ({
    ...change,
    bytes: Buffer.from(bytes).toString('base64'),
  }));
  return { row, head, tasks: [...tasks.values()], cells: [...cells.values()], changes: encoded };
}

/** The new file replaces the old one atomically. */
async function writeJobs(path: string, jobs: Jobs): Promise<void> {
  const text = JSON.stringify(Array.from(jobs.values(), toJson));
  await synced(await open(`${path}.new`, 'w'), (file) => file.writeFile(text));
  await rename(`${path}.new`, path);
  await synced(await open(dirname(path), 'r'));
}

async function synced(file: FileHandle, write?: (file: FileHandle) => Promise<void>) {
  try {
    await write?.(file);
    await file.sync();
  } finally {
    await file.close();
  }
}

export function openFileJobStore(
  path: string,
  deps: Partial<EngineDeps> = {},
  options?: EngineOptions,
): Promise<EngineJobStore> {
  const ports = { clock: createSystemClock(), random: createSystemRandom() };
  const silent = { logger: silentLogger, metrics: silentMetrics };
  return openJobStore(new FileAdapter(path), { ...ports, ...silent, ...deps }, options);
}

async function main(path: string): Promise<void> {
  await using store = await openFileJobStore(path);
  await using job = await createJobManager({ store, jobId: 'nightly', taskIndex: 0, numTasks: 1 });
  await job.setStarted({ tag: 'ingest' });
  await job.setState({ tag: 'ingest', status: 20, progress: 0.4 });
  console.log(`${(await job.getProgress()).percent}% in ${path}`);
  await job.setFinished({ tag: 'ingest' });
}

if (import.meta.filename === process.argv[1]) {
  const directory = await mkdtemp(join(tmpdir(), 'jobs-of-your-own-'));
  try {
    await main(join(directory, 'jobs.json'));
  } finally {
    await rm(directory, { recursive: true });
  }
}
