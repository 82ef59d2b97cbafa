// Four processes work on one job, each on its part of three steps. One is killed with SIGKILL in the
// middle: it shows as lost, another process takes over its task under a new epoch, and the job is completed. A fifth
// process watches, and proves that it has seen every change.
//
//   npm run example -- jobs-nightly
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  createJobManager,
  createJobReader,
  type JobEvent,
  JobStatus,
  type State,
  type TaskLease,
} from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';

const jobId = 'nightly-42';
const numTasks = 4;
const TAGS = ['ingest', 'parse', 'report'] as const;
const STEPS = [10, 20, 30, 40, 50, 60, 70, 80, 90];
const VICTIM = 2;
/** The shortest allowed, so that the lost task is detected soon. */
const TTL_MS = 1_000;

/** One task: works through its part of every tag, from where the previous process of this task stopped. */
async function work(address: string, taskIndex: number, stepMs: number): Promise<void> {
  await using store = createRemoteJobStore({ address });
  const target = { store, jobId, taskIndex, numTasks };
  await using job = await createJobManager(target, { lease: { ttlMs: TTL_MS } });
  for (const tag of TAGS) {
    const { status } = await job.getState({ taskId: taskIndex, tag });
    if (status === JobStatus.notStarted) await job.setStarted({ tag });
    for (const percent of STEPS.filter((step) => step > status)) {
      await sleep(stepMs * (0.5 + Math.random()));
      await job.setState({ tag, status: percent, message: `${percent} of 100 files` });
    }
    if (status !== JobStatus.finished) await job.setFinished({ tag });
  }
}

/** Prints a line for each event and, on a terminal, a table below them that is redrawn with each change. */
class Board {
  readonly #states = new Map<string, State>();
  readonly #leases = new Map<number, TaskLease>();
  #drawnLines = 0;

  take(event: JobEvent): void {
    if (event.kind === 'lease') {
      const { taskId, epoch, state, holder } = event.lease;
      this.#leases.set(taskId, event.lease);
      this.say(`task ${taskId}: ${state}, epoch ${epoch}, process ${holder}`);
    }
    if (event.kind !== 'snapshot' && event.kind !== 'change') return;
    const { taskId, tag, statusClass } = event.state;
    this.#states.set(`${taskId} ${tag}`, event.state);
    if (statusClass === 'finished') this.say(`task ${taskId}: ${tag} finished`);
    else this.#draw();
  }

  say(line: string): void {
    this.#erase();
    process.stdout.write(`${line}\n`);
    this.#draw();
  }

  #draw(): void {
    if (!process.stdout.isTTY) return;
    this.#erase();
    const rows = Array.from({ length: numTasks }, (_, taskId) => this.#row(taskId));
    const title = `${jobId.padEnd(16)}${TAGS.map((tag) => tag.padEnd(14)).join('')}`;
    const lines = ['', title, ...rows];
    process.stdout.write(lines.map((line) => `${line}\n`).join(''));
    this.#drawnLines = lines.length;
  }

  #erase(): void {
    if (this.#drawnLines > 0) process.stdout.write(`\x1b[${this.#drawnLines}A\x1b[J`);
    this.#drawnLines = 0;
  }

  #row(taskId: number): string {
    const bars = TAGS.map((tag) => {
      const status = this.#states.get(`${taskId} ${tag}`)?.status ?? 0;
      const filled = Math.min(10, Math.floor(status / 10));
      return `${'█'.repeat(filled)}${'░'.repeat(10 - filled)}    `;
    });
    const { state = 'free' } = this.#leases.get(taskId) ?? {};
    return `task ${taskId} ${state.padEnd(9)}${bars.join('')}`;
  }
}

/** Follows the whole job, with leases and metadata, and counts: revisions are 1, 2, 3 … without gaps. */
async function watch(address: string): Promise<void> {
  const board = new Board();
  process.on('message', (line: string) => board.say(line));
  await using store = createRemoteJobStore({ address });
  await using reader = await createJobReader({ store, jobId });
  process.send?.('watching');
  const finished = new Set<string>();
  const released = new Set<number>();
  let seen = 0;
  for await (const event of reader.subscribe({ include: ['lease', 'job'] })) {
    board.take(event);
    const revision = revisionOf(event);
    if (revision === undefined) continue;
    if (revision !== seen + 1) throw new Error(`revision ${revision} came after ${seen}`);
    seen = revision;
    if (event.kind === 'lease' && event.lease.state === 'released')
      released.add(event.lease.taskId);
    if ('state' in event && event.state.statusClass === 'finished')
      finished.add(`${event.state.taskId} ${event.state.tag}`);
    if (finished.size === numTasks * TAGS.length && released.size === numTasks) break;
  }
  const { percent, revision } = await reader.getProgress();
  board.say(`the job is at ${percent}% and at revision ${revision}`);
  board.say(`the watcher saw revisions 1 to ${seen}, each once, none missing`);
  process.disconnect();
  if (revision !== seen) throw new Error(`the watcher has missed ${revision - seen} changes`);
}

/** Which change of the job an event represents, if any. */
function revisionOf(event: JobEvent): number | undefined {
  switch (event.kind) {
    case 'snapshot':
    case 'change':
      return event.state.revision;
    case 'lease':
      return event.lease.revision;
    case 'job':
      return event.job.revision;
    case 'gap':
      throw new Error(`changes were left out: ${event.reason}`);
    case 'synced':
    case 'live':
    case 'stale':
      return undefined;
  }
}

const startProcess = (...args: readonly string[]) => fork(fileURLToPath(import.meta.url), args);

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  const { pid, exitCode, signalCode } = child;
  if (exitCode !== 0) throw new Error(`process ${pid} ended with ${exitCode ?? signalCode}`);
}

async function runJob(address: string, stepMs: string): Promise<void> {
  await using store = createRemoteJobStore({ address });
  await store.createJob({ jobId, numTasks, expectedTags: TAGS });
  await using reader = await createJobReader({ store, jobId });
  const watcher = startProcess('watch', address);
  await once(watcher, 'message');
  const startTask = (taskId: number) => startProcess('task', address, String(taskId), stepMs);
  const tasks = Array.from({ length: numTasks }, (_, taskId) => startTask(taskId));

  const victim = tasks[VICTIM];
  await reader.waitFor({ taskId: VICTIM, tag: 'parse' }, ({ lowest }) => lowest.status >= 20);
  watcher.send(`kill -9 ${victim?.pid}, which is working on task ${VICTIM}`);
  victim?.kill('SIGKILL');
  await reader.waitFor({}, ({ lostTasks }) => lostTasks > 0);
  tasks[VICTIM] = startTask(VICTIM);
  watcher.send(`process ${tasks[VICTIM]?.pid} takes over task ${VICTIM}`);

  await Promise.all([...tasks, watcher].map(ended));
}

const [, , role = '150', address = '', taskId, stepMs] = process.argv;
if (role === 'task') {
  await work(address, Number(taskId), Number(stepMs));
} else if (role === 'watch') {
  await watch(address);
} else {
  const dataDir = await mkdtemp(join(tmpdir(), 'syncline-nightly-'));
  const { startSyncline } = await import('./server/start-syncline.js'); // the others do not need a server
  const { server, portOf } = await startSyncline({ data_dir: dataDir });
  try {
    await runJob(`127.0.0.1:${portOf('grpc')}`, role); // `npm run example -- jobs-nightly 50` takes about 50 ms per step
  } finally {
    await server.stop();
    await rm(dataDir, { recursive: true });
  }
}
