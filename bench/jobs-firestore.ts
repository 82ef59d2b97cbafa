// Jobs in Firestore: whether 64 writers of one job are as fast as 64 writers of 64 jobs, through the emulator.
//
// Writers, store and emulator share one process, so the figures show how the two compare, not how fast Firestore is.
import { createJobManager } from '@syncline/jobs';
import { createFirestoreJobStore } from '@syncline/jobs/firestore';
import { startFirestore } from '@syncline/testkit/firestore';
import type { AnyBench } from './bench.js';
import { defineBench } from './measure.js';

const WRITERS = 64;
const WRITES_EACH = 20;

type Written = AsyncDisposable & { writeAll(): Promise<void> };

async function open(jobsCount: number): Promise<Written> {
  const server = await startFirestore();
  const store = createFirestoreJobStore({ projectId: 'bench', ...server.settings });
  const tags = { ingest: {} };
  const managers = await Promise.all(
    Array.from({ length: WRITERS }, (_, index) => {
      const jobId = `job-${index % jobsCount}`;
      const [taskIndex, numTasks] = [Math.floor(index / jobsCount), WRITERS / jobsCount];
      return createJobManager({ store, jobId, taskIndex, numTasks }, { tags, lease: false });
    }),
  );
  return {
    async writeAll() {
      await Promise.all(
        managers.map(async (manager) => {
          for (let status = 1; status <= WRITES_EACH; status += 1)
            await manager.setState({ tag: 'ingest', status });
        }),
      );
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(managers.map((manager) => manager.close()));
      await store.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const writesBench = defineBench<Written>({
  name: 'jobs-firestore-64-writers',
  unit: 'writes/s',
  better: 'more',
  isLong: true,
  about: `${WRITERS} tasks of one job in Firestore write a state each, ${WRITES_EACH} times, waiting for each reply; compared with as many tasks of ${WRITERS} jobs`,
  contestants: [
    { name: 'one job', open: () => open(1) },
    { name: `${WRITERS} jobs`, open: () => open(WRITERS) },
  ],
  async run({ writeAll }) {
    await writeAll();
    return WRITERS * WRITES_EACH;
  },
});

export const jobsFirestoreBenches: readonly AnyBench[] = [writesBench];
