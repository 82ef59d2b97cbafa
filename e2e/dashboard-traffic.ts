// Live data of every kind on a real cluster, for a browser to display: traffic continues until it is disposed of.
import { setTimeout as sleep } from 'node:timers/promises';
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { JobStatus, type JobStore } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import type { ClusterNode } from '@syncline/testkit';
import { Redis } from 'ioredis';

const TICK_MS = 100;

/** Names that would do harm as markup, hide or reorder text, or break a layout. */
export const HOSTILE = {
  markup: '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>',
  reordered: 'safe\u202Egpj.exe',
  long: 'x'.repeat(200),
  control: 'bell\u0007\u0000null\u001b[31mred',
} as const;

export class DashboardTraffic implements AsyncDisposable {
  readonly #node: ClusterNode;
  readonly #redis: Redis;
  readonly #store: JobStore;
  readonly #trackers: readonly FairTracker[];
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #round = 0;

  private constructor(node: ClusterNode) {
    this.#node = node;
    this.#redis = new Redis(node.url('resp'), { retryStrategy: () => 200 });
    this.#redis.on('error', () => undefined); // a test kills the server
    const address = node.url('grpc');
    this.#store = createRemoteJobStore({ address });
    this.#trackers = [1, 2].map(() =>
      createFairTracker({
        remote: grpcRemote({ address, tracker: 'api' }),
        secret: 'the same bytes on every instance',
        policy: 'linear',
      }),
    );
  }

  static async start(node: ClusterNode): Promise<DashboardTraffic> {
    const traffic = new DashboardTraffic(node);
    await traffic.#createJob('nightly', 24, ['ingest', 'parse', 'report']);
    await traffic.#createJob('hostile', 3, [HOSTILE.markup, HOSTILE.reordered, 'plain']);
    for (const tag of [HOSTILE.markup, HOSTILE.reordered])
      await traffic.write(
        'hostile',
        0,
        tag,
        JobStatus.error,
        `${HOSTILE.markup} ${HOSTILE.reordered}`,
      );
    const { markup, reordered, long, control } = HOSTILE;
    await traffic.#redis.sadd(markup, markup, reordered, long, control);
    await traffic.#redis.sadd(control, 'a');
    await traffic.#redis.sadd(Buffer.from([0xff, 0x00, 0xfe]), 'binary');
    await traffic.#redis.sadd('fruits', ...Array.from({ length: 250 }, (_, at) => `fruit-${at}`));
    await traffic.report(markup, {
      state: 'running',
      error: markup,
      heldBackBy: reordered,
      watermarkMs: 1e300,
    });
    traffic.#running = traffic.#run();
    return traffic;
  }

  /** Writes one state, whatever epoch the task is at. */
  async write(
    jobId: string,
    taskId: number,
    tag: string,
    status: number,
    message: string,
  ): Promise<void> {
    const job = await this.#store.getJob(jobId);
    if (job === undefined) throw new Error(`no job ${jobId}`);
    const { incarnation } = job;
    const { epoch } = await this.#store.lease({
      jobId,
      incarnation,
      taskId,
      action: 'claim',
      epoch: 0,
      ttlMs: 0,
      holder: 'the test',
    });
    await this.#store.setState({
      jobId,
      incarnation,
      taskId,
      epoch,
      tag,
      status,
      message,
      schemaVersion: 1,
      eventId: `${this.#round}-${taskId}-${tag.length}-${status}`,
      durability: 'buffered',
    });
  }

  async report(pipeline: string, progress: Readonly<Record<string, unknown>>): Promise<void> {
    const path = `/api/streams/${encodeURIComponent(pipeline)}`;
    const response = await fetch(`${this.#node.url('http')}${path}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ pipeline, ...progress }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#redis.disconnect();
    await Promise.all(this.#trackers.map((tracker) => tracker.close({ timeoutMs: 100 })));
    await this.#store.close();
  }

  async #createJob(
    jobId: string,
    numTasks: number,
    expectedTags: readonly string[],
  ): Promise<void> {
    await this.#store.createJob({
      jobId,
      numTasks,
      expectedTags,
      labels: { team: HOSTILE.markup.slice(0, 60) },
    });
  }

  async #run(): Promise<void> {
    for (; !this.#stop.signal.aborted; this.#round += 1) {
      await this.#tick().catch(() => undefined); // the server is down
      await sleep(TICK_MS);
    }
  }

  async #tick(): Promise<void> {
    const round = this.#round;
    for (const tracker of this.#trackers) {
      tracker.report('noisy', 'failure');
      tracker.report(`quiet-${round % 20}`, round % 3 === 0 ? 'failure' : 'success');
    }
    await this.#redis.sadd('visitors', `visitor-${round}`);
    const recordsIn = 1_000 * round;
    await this.report('orders', {
      state: 'running',
      epoch: 7,
      recordsIn,
      recordsOut: recordsIn,
      lagRecords: 12,
      watermarkMs: Date.now() - 4_000,
      heldBackBy: 'partition 3',
      lastCheckpointMs: 35,
      checkpointBytes: 48_213,
    });
    const task = round % 24;
    const tag = ['ingest', 'parse', 'report'][round % 3] ?? 'ingest';
    await this.write('nightly', task, tag, 1 + (round % 99), `step ${round}`);
  }
}
