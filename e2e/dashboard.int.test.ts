// The dashboard in a real Chromium, on real servers with live data.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  definePipeline,
  memorySource,
  memoryTarget,
  type ServerProgressOptions,
  serverProgress,
  start,
  transactionSink,
} from '@syncline/streams';
import { type Cluster, makeTempDirectory } from '@syncline/testkit';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCluster } from './cluster.js';
import { DashboardBrowser } from './dashboard-browser.js';
import { DashboardTraffic, HOSTILE } from './dashboard-traffic.js';

let cluster: Cluster;
let traffic: DashboardTraffic;
let browser: DashboardBrowser;
let url: string;

const SLOW = { timeout: 60_000 };

beforeAll(async () => {
  [cluster, browser] = await Promise.all([
    startCluster({ nodes: 2, isMeshed: true }),
    DashboardBrowser.start(),
  ]);
  url = cluster.node(1).url('http');
  traffic = await DashboardTraffic.start(cluster.node(1));
});

afterAll(async () => {
  await traffic?.[Symbol.asyncDispose]();
  await browser?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

/** Waits until a text is on screen. */
async function see(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor(SLOW);
}

/** Waits until the content of a selector has changed by itself. */
async function seeChange(page: Page, selector: string): Promise<void> {
  const before = await page.locator(selector).first().textContent();
  await expect.poll(() => page.locator(selector).first().textContent(), SLOW).not.toBe(before);
}

const VIEWS: (readonly [string, readonly (string | RegExp)[]])[] = [
  ['/', [/Node 1 is ready/, 'Fair throttling', 'Jobs', /in memory/, '127.0.0.1']],
  ['/fair', ['api', 'in sync', 'Hottest cells']],
  ['/jobs', ['nightly', 'hostile', /failed/]],
  ['/jobs/nightly', ['Tasks and tags', 'Latest changes', 'ingest']],
  ['/sets', ['this node', 'fruits', /digests equal, [0-9a-f]{8}/, /digests equal, (now|.* ago)/]],
  [`/sets/${Buffer.from('fruits').toString('base64url')}`, ['250', 'fruit-1', 'Next page']],
  ['/streams', ['orders', 'partition 3', '48.2 KB']],
];

describe('each view', () => {
  test.each(VIEWS)('%s shows live data and contacts only its server', async (path, texts) => {
    await using tab = await browser.open(`${url}${path}`);
    for (const text of texts) await see(tab.page, text);
    await tab.page.getByText('Live', { exact: true }).waitFor(SLOW);
    expect(tab.offences).toEqual([]);
  });

  test('numbers are updated without user action', async () => {
    await using tab = await browser.open(`${url}/jobs/nightly`);
    await see(tab.page, 'Latest changes');
    await seeChange(tab.page, '.changes');
    await tab.page.goto(`${url}/streams`);
    await see(tab.page, 'Records in');
    await seeChange(tab.page, '.facts');
    expect(tab.offences).toEqual([]);
  });

  test.each(['light', 'dark'] as const)(
    'no serious accessibility finding, %s',
    async (colorScheme) => {
      await using tab = await browser.open(url, { bypassCSP: true, colorScheme });
      // Once the light page is fine, only colors can be wrong in the dark one.
      const rules = colorScheme === 'dark' ? "runOnly: ['color-contrast'], " : '';
      for (const [path, [text = '']] of VIEWS) {
        await tab.page.goto(`${url}${path}`);
        await see(tab.page, text);
        await tab.page.evaluate(axe.source);
        const found = await tab.page.evaluate<readonly axe.Result[]>(
          `axe.run(document, { ${rules}resultTypes: ['violations'] }).then(({ violations }) => violations)`,
        );
        const findings = found
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(
            ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
          );
        expect({ path, findings }).toEqual({ path, findings: [] });
      }
    },
  );
});

describe('a job', () => {
  test('cells can be reached by keyboard, and show state, lease and raw JSON', async () => {
    await using tab = await browser.open(`${url}/jobs/nightly`);
    const { page } = tab;
    await page.locator('.grid').focus();
    await page.keyboard.press('ArrowRight');
    await see(page, /Task 0/);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => page.url()).toContain('task=1&tag=parse');
    await page.goto(`${url}/jobs/hostile?task=0&tag=${encodeURIComponent(HOSTILE.reordered)}`);
    await see(page, /held/);
    // Written long before the page was opened.
    await page.locator('.changes li').first().waitFor(SLOW);
    await see(page, 'the test');
    await page.getByText('Raw JSON').click();
    await see(page, /"statusClass": "failed"/);
    await page.keyboard.press('3');
    await expect.poll(() => page.url()).toMatch(/\/jobs$/);
    await page.getByRole('searchbox').waitFor(SLOW);
    await page.keyboard.press('/');
    await page.keyboard.type('host');
    await expect.poll(() => page.locator('table.jobs tbody tr').count(), SLOW).toBe(1);
    await page.keyboard.press('Escape'); // leaves the search field: keys switch views again
    await page.keyboard.press('4');
    await expect.poll(() => page.url()).toMatch(/\/sets$/);
    await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe('content');
    expect(tab.offences).toEqual([]);
  });

  test('shows no values before they are known', async () => {
    const tag = { tag: 'ingest', counts: [2, 0, 0, 0, 0], partly: 0 };
    const head = { job: { jobId: 'slow', numTasks: 2 }, isSynced: false, tags: [tag], history: [] };
    const part = JSON.stringify({ atMs: Date.now(), index: 0, count: 1, body: head });
    await using tab = await browser.open(url);
    const { page } = tab;
    await page.route('**/api/live?view=job*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: `event: part\ndata: ${part}\n\n` }),
    );
    await page.goto(`${url}/jobs/slow`);
    await page.locator('.job-head').getByText('slow').waitFor(SLOW);
    expect(await page.locator('.skeleton').count()).toBe(1);
    expect(await page.locator('main').textContent()).not.toMatch(/done|not started|No states/);
    expect(tab.offences).toEqual([]);
  });

  test('is removed only after confirmation', async () => {
    await traffic.write('nightly', 0, 'ingest', 5, 'still there');
    await using tab = await browser.open(`${url}/jobs/hostile`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect((await fetch(`${url}/api/jobs/hostile`)).status).toBe(200);
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await expect.poll(() => page.url()).toMatch(/\/jobs$/);
    expect((await fetch(`${url}/api/jobs/hostile`)).status).toBe(404);
    expect(tab.offences).toEqual([]);
  });
});

test('a tracker that does not exist is not replaced by another', async () => {
  await using tab = await browser.open(`${url}/fair?tracker=nope`);
  const { page } = tab;
  await see(page, /There is no tracker nope on this server\. The trackers are .*api/);
  expect(await page.getByText('Hottest cells').count()).toBe(0);
  await page.getByRole('alert').getByRole('link', { name: 'api' }).click();
  await see(page, 'Hottest cells');
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(tab.offences).toEqual([]);
});

test('hostile names are shown as text, and change nothing else', async () => {
  const set = Buffer.from(HOSTILE.markup).toString('base64url');
  await using tab = await browser.open(`${url}/sets/${set}`);
  const { page } = tab;
  await see(page, HOSTILE.markup);
  await see(page, 'safe⟨U+202E⟩gpj.exe');
  await see(page, 'bell␇␀null␛[31mred');
  await page.goto(`${url}/sets`);
  await see(page, 'binary');
  await page.goto(`${url}/streams`);
  await see(page, HOSTILE.markup);
  expect(await page.evaluate(() => 'hacked' in globalThis)).toBe(false);
  expect(await page.locator('img, main script').count()).toBe(0);
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  expect(overflow).toBeLessThanOrEqual(0);
  expect(tab.offences).toEqual([]);
});

test('when the server is killed the page keeps its last state, and recovers with the server', async () => {
  const node = cluster.node(1);
  await using tab = await browser.open(`${url}/sets`);
  const { page } = tab;
  await see(page, 'fruits');
  await node.kill();
  await see(page, /No connection to/);
  await see(page, /This data is from \d\d:\d\d:\d\d/);
  expect(await page.locator('main.is-old').count()).toBe(1);
  await see(page, 'fruits');
  await node.restart();
  await page.getByText('Live', { exact: true }).waitFor(SLOW);
  await expect.poll(() => page.locator('[role=alert], .is-old').count(), SLOW).toBe(0);
  await see(page, 'fruits');
  expect(tab.offences).toEqual([]);
});

test('a token is requested, kept for the tab, and sent nowhere else', async () => {
  await using directory = await makeTempDirectory('token');
  const file = join(directory.path, 'token');
  await writeFile(file, 'open-sesame');
  await using guarded = await startCluster({
    nodes: 1,
    env: { SYNCLINE_TOKEN_FILE: file },
  });
  const guardedUrl = guarded.node(1).url('http');
  const refused = await reportsOf({ url: guardedUrl });
  expect(refused).toEqual([expect.stringMatching(/responded to a report with HTTP 401/)]);
  expect(await reportsOf({ url: guardedUrl, token: 'open-sesame' })).toEqual([]);
  await using tab = await browser.open(guardedUrl);
  const { page } = tab;
  await page.getByLabel('Token').fill('guess');
  await page.getByRole('button', { name: 'Open' }).click();
  await see(page, 'The server did not accept this token.');
  await page.getByLabel('Token').fill('open-sesame');
  await page.keyboard.press('Enter');
  await see(page, /Node 1 is ready/);
  await page.goto(`${guardedUrl}/streams`);
  await see(page, 'numbers');
  await see(page, 'finished');
  await page.goto(guardedUrl);
  await page.reload();
  await see(page, /Node 1 is ready/);
  const kept = await page.evaluate<unknown>(
    "[localStorage.length, document.cookie, sessionStorage.getItem('syncline-token')]",
  );
  expect(kept).toEqual([0, '', 'open-sesame']);
  await using other = await browser.open(guardedUrl);
  await see(other.page, 'This server requires a token');
  expect([...tab.offences, ...other.offences]).toEqual([]);
});

/** Runs a pipeline that reports to a server. The errors of its reports, without repeats. */
async function reportsOf(options: ServerProgressOptions): Promise<string[]> {
  const errors = new Set<string>();
  const progress = serverProgress({ ...options, onError: ({ message }) => errors.add(message) });
  let last = '';
  const target = memoryTarget();
  const numbers = definePipeline('numbers', (p) => {
    p.source(memorySource({ uid: 'in', partitions: { a: [1, 2, 3] } })).to(
      transactionSink({ uid: 'out', target }),
    );
  });
  await using run = await start(numbers, {
    progress: {
      report(report) {
        last = report.state;
        progress.report(report);
      },
    },
  });
  await run.finished;
  expect(last).toBe('finished');
  if (options.token === undefined) await expect.poll(() => errors.size, SLOW).toBeGreaterThan(0);
  return [...errors];
}
