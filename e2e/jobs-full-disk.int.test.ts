// The jobs on a disk that fills up: refused writes use no revision and leave nothing behind, reads, replays and live
// streams continue, writing resumes once there is space, and after kill -9 exactly the acknowledged writes remain.
import type { JobEvent, JobStore, State } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { SynclineError } from '@syncline/kernel';
import { mountSmallDisk } from '@syncline/testkit';
import { expect, test, vi } from 'vitest';
import { CliProcess } from './cli-process.js';
import { JobsTask } from './jobs-task.js';

const WAIT = { timeout: 60_000, interval: 50 };
const DISK_BYTES = 32 * 1024 * 1024;
const TAGS = 20;
const jobId = 'nightly';

async function startOn(directory: string): Promise<{ server: CliProcess; store: JobStore }> {
  const ports = ['--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];
  const server = new CliProcess(['serve', '--data-dir', `${directory}/data`, ...ports]);
  await server.url();
  const grpc = server.listeners().find(({ listener }) => listener === 'grpc');
  return { server, store: createRemoteJobStore({ address: `127.0.0.1:${grpc?.port}` }) };
}

async function replayOf(store: JobStore): Promise<readonly State[]> {
  const states: State[] = [];
  for await (const event of store.subscribe(jobId, { scope: {} })) {
    if (event.kind === 'synced') break;
    if (event.kind === 'snapshot') states.push(event.state);
  }
  return states;
}

test('J3 a full disk refuses writes, uses no revision and keeps what was acknowledged', async (context) => {
  const disk = mountSmallDisk(DISK_BYTES);
  if ('reason' in disk) return context.skip(disk.reason);
  using _ = disk;
  const kept = new Map<string, State>();
  const inOrder = () => [...kept.values()].sort((a, b) => a.revision - b.revision);
  let status = 0;
  /** `applied`, or why not. */
  const writeOne = async (task: JobsTask): Promise<string> => {
    status += 1;
    const payload = { rows: 'x'.repeat(10_000) };
    try {
      const state = await task.set(`tag-${status % TAGS}`, status, { payload });
      kept.set(state.tag, state);
      return 'applied';
    } catch (thrown) {
      const { code, outcome } = SynclineError.from(thrown);
      return `${code}, ${outcome}`;
    }
  };
  {
    const { server, store } = await startOn(disk.path);
    await using _server = server;
    const task = await JobsTask.claim(store, { jobId });
    for (let count = 0; count < 100; count += 1) expect(await writeOne(task)).toBe('applied');
    const live: JobEvent[] = [];
    void follow(store, live);
    await vi.waitFor(() => expect(live.at(-1)?.kind).toBe('synced'), WAIT);

    await disk.fill(0);
    await vi.waitFor(
      async () => expect(await writeOne(task)).toBe('storage-full, not-applied'),
      WAIT,
    );
    const full = await store.getJob(jobId);
    expect(await writeOne(task)).toBe('storage-full, not-applied');
    await expect(store.createJob({ jobId: 'other', numTasks: 1 })).rejects.toMatchObject({
      code: 'storage-full',
    });
    await expect(task.act('release')).rejects.toMatchObject({ code: 'storage-full' });
    expect(await store.getJob(jobId)).toEqual(full);
    expect(full?.revision).toBe(inOrder().at(-1)?.revision);
    const { states } = await store.listStates(jobId, {}, { afterRevision: 0, limit: 1_000 });
    expect(states).toEqual(inOrder());
    expect(await replayOf(store)).toEqual(inOrder());
    expect((await store.aggregate(jobId, { taskId: 0 })).cells.running).toBe(TAGS);
    expect((await fetch(`${await server.url()}/readyz`)).status).toBe(200);

    await disk.free();
    await vi.waitFor(async () => expect(await writeOne(task)).toBe('applied'), WAIT);
    expect((await store.getJob(jobId))?.revision).toBe((full?.revision ?? 0) + 1);
    await vi.waitFor(() => expect(live.at(-1)).toMatchObject({ state: { status } }), WAIT);
    const revisions = live.flatMap((event) =>
      event.kind === 'change' ? [event.state.revision] : [],
    );
    expect(revisions).toEqual(revisions.map((_each, index) => (revisions[0] ?? 0) + index));
    expect(live.map(({ kind }) => kind)).not.toContain('gap');
    await store.close();
  }
  const { server, store } = await startOn(disk.path);
  await using _server = server;
  expect(await replayOf(store)).toEqual(inOrder());
  await store.close();
});

async function follow(store: JobStore, events: JobEvent[]): Promise<void> {
  for await (const event of store.subscribe(jobId, { scope: {} }))
    if (event.kind !== 'live') events.push(event);
}
