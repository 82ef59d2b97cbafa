// Reports the progress of a pipeline as a job: the pipeline is the job, and each of its workers is a task. The dashboard
// and `syncline jobs watch` then show how far the pipeline has come.
//
//   npm run example -- streams-progress
import { createJobManager, createJobReader, type JobManager } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import {
  definePipeline,
  memorySource,
  type PipelineProgress,
  type ProgressReporter,
  start,
} from '@syncline/streams';
import { startSyncline } from './server/start-syncline.js';

const RECORDS = 200_000;
const TAG = 'records';

/** `report` must not wait: while a write is in flight, only the newest report of its task is kept. */
class JobProgress implements ProgressReporter {
  readonly #tasks: readonly JobManager[];
  readonly #newest = new Map<number, PipelineProgress>();
  readonly #writing = new Map<number, Promise<void>>();

  constructor(tasks: readonly JobManager[]) {
    this.#tasks = tasks;
  }

  report(progress: PipelineProgress): void {
    const { slot } = progress;
    this.#newest.set(slot, progress);
    if (!this.#writing.has(slot)) this.#writing.set(slot, this.#write(slot));
  }

  /** Resolves when everything reported was written. */
  async settled(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  async #write(slot: number): Promise<void> {
    const job = this.#tasks[slot];
    try {
      for (let next = this.#take(slot); job && next; next = this.#take(slot)) await send(job, next);
    } catch (thrown) {
      process.emitWarning(thrown as Error); // the run continues
    }
    this.#writing.delete(slot);
  }

  #take(slot: number): PipelineProgress | undefined {
    const progress = this.#newest.get(slot);
    this.#newest.delete(slot);
    return progress;
  }
}

async function send(job: JobManager, progress: PipelineProgress): Promise<void> {
  const { state, epoch, recordsIn, error } = progress;
  const message = `${state}, ${recordsIn} records, epoch ${epoch}`;
  if (state === 'finished') await job.setFinished({ tag: TAG, message });
  else if (state === 'failed') await job.setError(error ?? message, { tag: TAG });
  else if (state === 'stalled') await job.setWarning(error ?? message, { tag: TAG });
  else await job.setStarted({ tag: TAG, message, progress: recordsIn / RECORDS });
}

const counts = definePipeline('counts', (p) => {
  const numbers = Array.from({ length: RECORDS }, (_, index) => index);
  p.source(memorySource({ uid: 'in', partitions: { all: numbers } }))
    .keyBy((number) => number % 100)
    .reduce({ uid: 'counts', initial: () => 0, add: (count) => count + 1 });
});

const { server, portOf } = await startSyncline({ memory: 'true' });
const store = createRemoteJobStore({ address: `127.0.0.1:${portOf('grpc')}` });
const target = { store, jobId: 'counts', taskIndex: 0, numTasks: 1 };
const task = await createJobManager(target);
const progress = new JobProgress([task]);

const run = await start(counts, { progress });
await run.finished;
await progress.settled();
const job = await createJobReader({ store, jobId: 'counts' });
const { percent, worst } = await job.getProgress();
process.stdout.write(`job counts: ${percent}%, ${worst.message}\n`);

await job.close();
await task.close();
await store.close();
await server.stop();
