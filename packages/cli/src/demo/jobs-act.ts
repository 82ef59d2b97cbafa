// A job whose worker is killed and replaced: the killed worker's tasks show as lost, another process takes them over
// under a new epoch, and a watcher sees every change.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createJobManager, createJobReader, type JobReader, JobStatus } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { silentLogger } from '@syncline/kernel';
import { type Act, until } from './demo-stage.js';

const JOB_ID = 'demo-nightly';
const WORKERS = 4;
const TASKS_PER_WORKER = 6;
const NUM_TASKS = WORKERS * TASKS_PER_WORKER;
const TAGS = ['ingest', 'parse', 'report'] as const;
const STEPS = [25, 50, 75];
const LEASE_MS = 1_000;
const VICTIM = 2;

interface WorkerOptions {
  readonly address: string;
  readonly worker: number;
  readonly stepMs: number;
}

export const jobsAct: Act = {
  name: 'jobs',
  title: 'a worker is killed and replaced',
  async play(stage) {
    const { cluster, isFast, signal } = stage;
    const address = cluster.address(1, 'grpc');
    const stepMs = isFast ? 60 : 450;
    await using store = createRemoteJobStore({ address });
    await store.deleteJob(JOB_ID); // in case an earlier run of the act was interrupted
    await store.createJob({ jobId: JOB_ID, numTasks: NUM_TASKS, expectedTags: TAGS });
    await using reader = await createJobReader({ store, jobId: JOB_ID }, { log: silentLogger });
    const watched = watch(reader, signal);
    const workers: ChildProcess[] = [];
    const start = (worker: number, slower = 1): ChildProcess => {
      const child = startWorker({ address, worker, stepMs: stepMs * slower });
      workers.push(child);
      return child;
    };
    const endAll = (): void => {
      for (const worker of workers) worker.kill('SIGKILL');
    };
    signal.addEventListener('abort', endAll, { once: true });
    try {
      await stage.narrate(
        `${WORKERS} processes work on ${NUM_TASKS} tasks, each with ${TAGS.length} steps (tags).`,
        `/jobs/${JOB_ID}`,
      );
      const first = Array.from(
        { length: WORKERS },
        (_, worker) => start(worker, worker === VICTIM ? 3 : 1), // slower, so that it is killed before it is done
      );
      const progress = () => reader.getProgress({});
      await until('a third of the work of one worker', stage, async () => {
        const tasks = await Promise.all(
          tasksOf(VICTIM).map((taskId) => reader.getProgress({ taskId })),
        );
        const finished = tasks.reduce((sum, { cells }) => sum + cells.finished, 0);
        return finished >= TASKS_PER_WORKER ? true : undefined;
      });
      first[VICTIM]?.kill('SIGKILL');
      await stage.narrate(`Worker ${VICTIM} is killed with SIGKILL. It has no chance to clean up.`);
      const lost = await until('the lease to expire', stage, async () => {
        const { lostTasks } = await progress();
        return lostTasks > 0 ? lostTasks : undefined;
      });
      await stage.narrate(
        `${lost} of its tasks show as lost once their leases expire. A new process takes over.`,
      );
      start(VICTIM);
      const done = await until('the job to finish', stage, async () => {
        const { cells, revision } = await progress();
        return cells.finished === cells.total ? { cells, revision } : undefined;
      });
      const seen = await until('the watcher to catch up', stage, () =>
        watched.revision >= done.revision ? watched : undefined,
      );
      stage.check(
        done.cells.failed === 0 && seen.gaps === 0 && seen.takenOver > 0,
        `all ${done.cells.total} steps are finished, ${seen.takenOver} tasks were taken over by a new process, and the watcher saw all ${seen.changes} changes with no gaps`,
        {
          cells: done.cells.total,
          changes: seen.changes,
          gaps: seen.gaps,
          takenOver: seen.takenOver,
        },
      );
    } finally {
      signal.removeEventListener('abort', endAll);
      endAll();
    }
  },
};

function tasksOf(worker: number): readonly number[] {
  return Array.from({ length: TASKS_PER_WORKER }, (_, at) => worker * TASKS_PER_WORKER + at);
}

interface Watched {
  revision: number;
  changes: number;
  /** Missed versions of a cell, and `gap` events. */
  gaps: number;
  takenOver: number;
}

/** Counts in the background until the reader is closed. */
function watch(reader: JobReader, signal: AbortSignal): Watched {
  const watched: Watched = { revision: 0, changes: 0, gaps: 0, takenOver: 0 };
  const versions = new Map<string, number>();
  const takenOver = new Set<number>();
  const run = async (): Promise<void> => {
    for await (const event of reader.subscribe({ include: ['lease'], signal })) {
      if (event.kind === 'gap') watched.gaps += 1;
      if (event.kind === 'lease') {
        watched.revision = Math.max(watched.revision, event.lease.revision);
        if (event.lease.state === 'held' && event.lease.epoch > 1)
          takenOver.add(event.lease.taskId);
        watched.takenOver = takenOver.size;
      }
      if (event.kind !== 'snapshot' && event.kind !== 'change') continue;
      const { taskId, tag, version, revision } = event.state;
      const key = `${taskId} ${tag}`;
      const isNext = event.kind === 'snapshot' || version === (versions.get(key) ?? 0) + 1;
      if (!isNext) watched.gaps += 1;
      versions.set(key, version);
      watched.changes += 1;
      watched.revision = Math.max(watched.revision, revision);
    }
  };
  run().catch(() => undefined); // the reader was closed
  return watched;
}

/** A separate process, so that it can be killed. */
function startWorker(options: WorkerOptions): ChildProcess {
  const module = JSON.stringify(fileURLToPath(import.meta.url));
  const program = `import(${module}).then(({ runWorker }) => runWorker(JSON.parse(process.argv[1])))`;
  return spawn(process.execPath, ['--eval', program, JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** Runs all tasks of a worker concurrently. Each continues where its previous process stopped. */
export async function runWorker({ address, worker, stepMs }: WorkerOptions): Promise<void> {
  process.once('disconnect', () => process.exit(1)); // the demo is gone
  {
    await using store = createRemoteJobStore({ address });
    await Promise.all(
      tasksOf(worker).map(async (taskIndex) => {
        const target = { store, jobId: JOB_ID, taskIndex, numTasks: NUM_TASKS };
        await using job = await createJobManager(target, {
          lease: { ttlMs: LEASE_MS },
          log: silentLogger,
        });
        for (const tag of TAGS) {
          const { status } = await job.getState({ taskId: taskIndex, tag });
          if (status === JobStatus.finished) continue;
          if (status === JobStatus.notStarted) await job.setStarted({ tag });
          for (const percent of STEPS.filter((step) => step > status)) {
            await new Promise((resolve) => setTimeout(resolve, stepMs * (0.5 + Math.random())));
            await job.setState({ tag, status: percent, message: `${percent} of 100 files` });
          }
          await job.setFinished({ tag });
        }
      }),
    );
  }
  process.exit(0); // the open IPC channel would keep the process alive
}
