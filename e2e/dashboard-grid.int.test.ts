// The grid of a large job under constant change: frames per second, and that the page ends with what the server has.
// With DASHBOARD_TASKS=10000 it prints the figures of docs/dashboard.md.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { JobStatus, type JobStore } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { type Cluster, startCluster } from '@syncline/testkit';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { DashboardBrowser, printFigures } from './dashboard-browser.js';

declare module 'vitest' {
  interface ProvidedContext {
    readonly dashboardTasks: number;
  }
}

const TAGS = Array.from({ length: 10 }, (_, at) => `stage-${at}`);
const JOB = 'large';
const PARALLEL = 200;
const isFull = inject('dashboardTasks') >= 10_000;
const numTasks = inject('dashboardTasks');
const changesPerSecond = isFull ? 1_000 : 300;
const seconds = isFull ? 10 : 2;

let cluster: Cluster;
let browser: DashboardBrowser;
let store: JobStore;
let incarnation: string;
const epochs = new Map<number, number>();
const figures: Record<string, number | string> = { numTasks, tags: TAGS.length };

beforeAll(async () => {
  [cluster, browser] = await Promise.all([startCluster({ nodes: 1 }), DashboardBrowser.start()]);
  store = createRemoteJobStore({ address: cluster.node(1).url('grpc') });
  ({ incarnation } = (await store.createJob({ jobId: JOB, numTasks, expectedTags: TAGS })).job);
  await inParallel(numTasks, claim);
  await inParallel(numTasks, async (taskId) => {
    for (const tag of TAGS) await write(taskId, tag, JobStatus.started, 'first');
  });
}, 300_000);

afterAll(async () => {
  if (isFull) printFigures(figures);
  await store?.close();
  await browser?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, count) }, worker));
}

async function claim(taskId: number): Promise<void> {
  const lease = { jobId: JOB, incarnation, taskId, epoch: 0, ttlMs: 0, holder: 'the test' };
  epochs.set(taskId, (await store.lease({ ...lease, action: 'claim' })).epoch);
}

let eventsCount = 0;

async function write(taskId: number, tag: string, status: number, message: string): Promise<void> {
  const eventId = `event-${eventsCount++}`;
  const epoch = epochs.get(taskId) ?? 0;
  const key = { jobId: JOB, incarnation, taskId, epoch, tag, eventId };
  await store.setState({ ...key, status, message, schemaVersion: 1, durability: 'buffered' });
}

/** Writes at a steady pace and returns what each changed cell is then. */
async function changeFor(ms: number): Promise<number> {
  const statuses = [JobStatus.finished, JobStatus.error, JobStatus.warning, 50];
  const startedMs = performance.now();
  let written = 0;
  while (performance.now() - startedMs < ms) {
    const due = Math.floor(((performance.now() - startedMs) / 1_000) * changesPerSecond) - written;
    const first = written;
    await inParallel(due, async (at) => {
      const cell = (first + at) * 7_919;
      const tag = TAGS[cell % TAGS.length] ?? '';
      await write(
        Math.floor(cell / TAGS.length) % numTasks,
        tag,
        statuses[(first + at) % 4] ?? 50,
        'changed',
      );
    });
    written += due;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return written;
}

/** Seconds of processor time that the server has used. */
function serverSeconds(): number {
  const fields =
    readFileSync(`/proc/${cluster.node(1).pid}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

test('the grid draws on while cells change, and ends with what the server has', async () => {
  const url = cluster.node(1).url('http');
  const openedMs = performance.now();
  await using tab = await browser.open(`${url}/jobs/${JOB}`);
  const { page } = tab;
  await page.locator('.grid canvas').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  figures['gridFirstDataMs'] = Math.round(performance.now() - openedMs);
  await page.evaluate(`
    frames = []; last = performance.now();
    count = (now) => { frames.push(now - last); last = now; requestAnimationFrame(count); };
    requestAnimationFrame(count);
  `);
  const written = await changeFor(seconds * 1_000);
  const frames = await page.evaluate<readonly number[]>('frames');
  const fps = frames.length / (frames.reduce((sum, ms) => sum + ms, 0) / 1_000);
  figures['changesPerSecond'] = Math.round(written / seconds);
  figures['framesPerSecond'] = Math.round(fps * 10) / 10;
  figures['longestFrameMs'] = Math.round(Math.max(...frames));
  const { cells } = await store.aggregate(JOB, {});
  const percent = `${Math.floor((1_000 * cells.finished) / cells.total) / 10}%`;
  await expect
    .poll(() => page.locator('.job-title .big').textContent(), { timeout: 20_000 })
    .toContain(percent);
  await expect
    .poll(() => page.locator('.job-head .bar').getAttribute('aria-label'), { timeout: 20_000 })
    .toContain(`${cells.failed.toLocaleString('en-US')} failed`);
  expect(fps).toBeGreaterThan(5);
  expect(tab.offences).toEqual([]);
});

test('pages are cheap: many open ones, and some that never read, leave the server responsive', async () => {
  const url = cluster.node(1).url('http');
  const openedMs = performance.now();
  await using tab = await browser.open(url);
  await tab.page.getByText('Live', { exact: true }).waitFor();
  figures['overviewFirstDataMs'] = Math.round(performance.now() - openedMs);
  const pagesCount = isFull ? 500 : 50;
  const measureMs = isFull ? 10_000 : 1_000;
  const cpuOf = async () => {
    const before = serverSeconds();
    await new Promise((resolve) => setTimeout(resolve, measureMs));
    return (serverSeconds() - before) / (measureMs / 1_000);
  };
  const alone = await cpuOf();
  const leaving = new AbortController();
  const responses = await Promise.all(
    Array.from({ length: pagesCount }, () =>
      fetch(`${url}/api/live?view=overview`, { signal: leaving.signal }),
    ),
  );
  // Half of them read, the other half never do.
  const readings = responses.slice(pagesCount / 2).map(async ({ body }) => {
    const reader = body?.getReader();
    while ((await reader?.read())?.done === false);
  });
  const settled = Promise.allSettled(readings);
  const crowded = await cpuOf();
  const askedMs = performance.now();
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  figures['readyzWithPagesMs'] = Math.round(performance.now() - askedMs);
  expect(performance.now() - askedMs).toBeLessThan(2_000);
  figures['cpuMsPerPageAndSecond'] =
    Math.round(((crowded - alone) * 1_000_000) / pagesCount) / 1_000;
  leaving.abort();
  await settled;
});

test('the page is at most 150 KB compressed', async () => {
  const url = cluster.node(1).url('http');
  const html = await (await fetch(url)).text();
  const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(
    ([, path]) => path ?? '',
  );
  expect(files.length).toBeGreaterThanOrEqual(3);
  const bodies = await Promise.all(
    files.map(async (path) => Buffer.from(await (await fetch(url + path)).arrayBuffer())),
  );
  const bytes = [Buffer.from(html), ...bodies].reduce(
    (sum, body) => sum + gzipSync(body, { level: 9 }).length,
    0,
  );
  figures['compressedBytes'] = bytes;
  expect(bytes).toBeLessThan(150_000);
});
