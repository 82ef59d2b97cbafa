// The grid of a large job under constant change: frames per second, and that the page ends in the same state as the
// server. With DASHBOARD_TASKS=10000 it prints the figures of docs/dashboard.md.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { JobStatus, type JobStore } from '@syncline/jobs';
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import { serverLimits } from '@syncline/server';
import type { Cluster } from '@syncline/testkit';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startCluster } from './cluster.js';
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
const figures: Record<string, unknown> = { numTasks, tags: TAGS.length };

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

/** Writes at a steady pace and returns the final state of each changed cell. */
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

test('the grid keeps drawing while cells change, and ends with the state of the server', async () => {
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
    .poll(() => page.locator('.job-title .big').textContent(), { timeout: 60_000 })
    .toContain(percent);
  await expect
    .poll(() => page.locator('.job-head .bar').getAttribute('aria-label'), { timeout: 60_000 })
    .toContain(`${cells.failed.toLocaleString('en-US')} failed`);
  expect(fps).toBeGreaterThan(isFull ? 5 : 1); // the machine may be busy
  expect(tab.offences).toEqual([]);
});

interface Reading extends AsyncDisposable {
  bytes(): number;
}

/** A page's event stream, without the page. Rejects unless the status is 200. */
async function openStream(query: string, isRead: boolean): Promise<Reading> {
  const request = get(`${cluster.node(1).url('http')}/api/live?${query}`, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let bytes = 0;
  if (isRead)
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
  if (response.statusCode !== 200) throw new Error(`${query} answered ${response.statusCode}`);
  response.on('error', () => undefined);
  return {
    bytes: () => bytes,
    async [Symbol.asyncDispose]() {
      response.destroy();
      await once(request, 'close');
    },
  };
}

function disposeAll(readings: readonly Reading[]): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(readings.map((reading) => reading[Symbol.asyncDispose]()));
    },
  };
}

/** Changes cells at a steady pace: how long another client waits meanwhile, and what the server uses. */
async function measure(ms: number) {
  const cpuBefore = serverSeconds();
  const startMs = performance.now();
  const delays: number[] = [];
  const ask = async () => {
    while (performance.now() - startMs < ms) {
      const askedMs = performance.now();
      expect((await fetch(`${cluster.node(1).url('http')}/readyz`)).status).toBe(200);
      delays.push(performance.now() - askedMs);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all([changeFor(ms), ask()]);
  delays.sort((one, other) => one - other);
  const cpu = (serverSeconds() - cpuBefore) / ((performance.now() - startMs) / 1_000);
  const at = (share: number) =>
    Math.round((delays[Math.floor(share * delays.length)] ?? 0) * 10) / 10;
  return { cpu, p50Ms: at(0.5), p99Ms: at(0.99), residentMiB: residentMiB() };
}

function residentMiB(): number {
  const status = readFileSync(`/proc/${cluster.node(1).pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024);
}

test('open pages, one of which never reads, cost little memory and do not slow down anyone else', {
  timeout: 180_000,
}, async () => {
  const url = cluster.node(1).url('http');
  const openedMs = performance.now();
  await using tab = await browser.open(url);
  await tab.page.getByText('Live', { exact: true }).waitFor();
  figures['overviewFirstDataMs'] = Math.round(performance.now() - openedMs);
  await using grid = await browser.open(`${url}/jobs/${JOB}`);
  await grid.page.locator('.grid canvas').waitFor();
  const measureMs = isFull ? 20_000 : 1_500;
  const alone = await measure(measureMs);
  // With the two of the browser, as many as a node allows.
  const pagesCount = isFull ? serverLimits.livePagesMax.value - 2 : 60;
  const views = ['view=overview', 'view=fair', 'view=jobs', 'view=sets', 'view=streams'];
  await using never = await openStream(`view=job&job=${JOB}`, false);
  const readings: Reading[] = [];
  await using _open = disposeAll(readings);
  for (let at = 1; at < pagesCount; at += 1) {
    const query = at % 20 === 0 ? `view=job&job=${JOB}` : (views[at % views.length] ?? '');
    readings.push(await openStream(query, true));
  }
  const crowded = await measure(measureMs);
  Object.assign(figures, { pagesCount: pagesCount + 2, alone, crowded });
  figures['cpuMsPerPageAndSecond'] =
    Math.round(((crowded.cpu - alone.cpu) * 1_000_000) / pagesCount) / 1_000;
  expect(never.bytes()).toBe(0);
  const before = readings.map((reading) => reading.bytes());
  await expect
    .poll(() => readings.every((reading, at) => reading.bytes() > (before[at] ?? 0)), {
      timeout: 60_000,
    })
    .toBe(true);
  if (isFull) await expect(openStream('view=overview', true)).rejects.toThrow('503');
  expect(crowded.residentMiB - alone.residentMiB).toBeLessThan(isFull ? 300 : 100);
  // Of few questions the slowest is the p99, and a busy machine answers any of them late.
  expect(isFull ? crowded.p99Ms : crowded.p50Ms).toBeLessThan(1_000);
  for (const { page, offences } of [tab, grid]) {
    await page.getByText('Live', { exact: true }).waitFor();
    expect(offences).toEqual([]);
  }
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
