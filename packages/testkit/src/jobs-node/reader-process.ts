// The process of a reader: follows one job over its link, from where the reader's previous process stopped.
import type { createJobReader, JobReader, JobStore } from '@syncline/jobs';
import { SynclineError, silentLogger } from '@syncline/kernel';
import type { SeededRandom, SimPorts } from '@syncline/kernel/testing';
import type { JobFollower } from './job-follower.js';

export interface ReaderProcessDeps {
  readonly ports: SimPorts;
  readonly store: JobStore;
  readonly random: SeededRandom;
  readonly follower: JobFollower;
  readonly create: typeof createJobReader;
  readonly isLoading: () => boolean;
  readonly isOver: () => boolean;
}

const RETRY_MS = 100;

export async function runReader(deps: ReaderProcessDeps): Promise<void> {
  const { ports, random, follower, isLoading, isOver } = deps;
  const { clock } = ports;
  const reader = await openReader(deps);
  if (!reader) return;
  const subscribe: Parameters<JobFollower['run']>[0]['subscribe'] = ({ scope, ...options }) => {
    return reader.subscribe({ ...options, ...scope });
  };
  await follower.run({ clock, random, subscribe, isLoading }, isOver);
}

/** Waits until the job exists and the store responds. */
async function openReader(deps: ReaderProcessDeps): Promise<JobReader | undefined> {
  const { ports, store, random, follower, create, isOver } = deps;
  const { clock } = ports;
  const { jobId } = follower.follow;
  const options = { timeoutMs: 2_000, retry: { initialMs: 10, maxMs: 50 }, log: silentLogger };
  while (!isOver()) {
    try {
      return await create({ store, jobId }, options, { clock, random });
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      await clock.sleep(RETRY_MS * random.float());
    }
  }
  return undefined;
}
