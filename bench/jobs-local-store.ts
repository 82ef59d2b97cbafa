// The embedded store in this process, on its own LevelDB, with all cells of the job written.
import { type JobStore, openEmbeddedJobStore } from '@syncline/jobs';
import { openLevelStorage } from '@syncline/kernel/level';
import { makeTempDirectory } from '@syncline/testkit';
import { benchDeps } from './fair-state-server.js';
import { CELLS, inParallel, TASKS } from './jobs-cells.js';
import { openStoreWriter } from './jobs-writers.js';
import { Slots } from './slots.js';

export interface LocalJob extends AsyncDisposable {
  readonly store: JobStore;
  readonly jobId: string;
  write(index: number): Promise<void>;
}

/** Far below the limit of a store's queue: a busy machine delays writes, but none is refused. */
const WRITES_AT_ONCE = 1_000;

export async function openFilledLocalJob(): Promise<LocalJob> {
  const directory = await makeTempDirectory('jobs-bench');
  const storage = await openLevelStorage(benchDeps, { directory: directory.path });
  const store = await openEmbeddedJobStore({ ...benchDeps, storage });
  const jobId = 'local';
  const slots = new Slots(WRITES_AT_ONCE);
  const writeNow = await openStoreWriter([store], { jobId, tasks: TASKS });
  const write = (index: number) => slots.run(() => writeNow(index));
  await inParallel({ count: CELLS, atOnce: WRITES_AT_ONCE }, write);
  return {
    store,
    jobId,
    write,
    async [Symbol.asyncDispose]() {
      await store.close();
      await storage.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}
