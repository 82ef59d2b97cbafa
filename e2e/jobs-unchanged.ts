// A server with one job, for tests of refused requests: whatever they were, nothing has changed.
import type { JobStore } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import type { Cluster } from '@syncline/testkit';
import { expect } from 'vitest';
import { startCluster } from './cluster.js';
import { JobsTask } from './jobs-task.js';

/** It has 4 tasks, the second of which has written one state. */
export const jobId = 'nightly';

export class UnchangedJobs implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly store: JobStore;
  /** The second task of the job. */
  readonly task: JobsTask;
  #before: unknown;

  private constructor(cluster: Cluster, store: JobStore, task: JobsTask) {
    this.cluster = cluster;
    this.store = store;
    this.task = task;
  }

  static async start(): Promise<UnchangedJobs> {
    const cluster = await startCluster({ nodes: 1 });
    const store = createRemoteJobStore({ address: cluster.node(1).url('grpc') });
    const task = await JobsTask.claim(store, { jobId, taskId: 1 });
    await task.set('ingest', 5);
    return new UnchangedJobs(cluster, store, task);
  }

  /** Called before a test, and after changes that it made on purpose. */
  async remember(): Promise<void> {
    this.#before = await this.#contents();
  }

  async expectUnchanged(): Promise<void> {
    expect(await this.#contents()).toEqual(this.#before);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
    await this.cluster[Symbol.asyncDispose]();
  }

  async #contents(): Promise<unknown> {
    const { jobs } = await this.store.listJobs({});
    return [jobs, await this.store.listStates(jobId, {}, { afterRevision: 0, limit: 1_000 })];
  }
}
