// `npm run screenshots`: plays the demo, captures it in Chromium, and writes docs/img: every view, light and dark, on a
// wide and on a narrow screen. `npm run screenshots -- --all DIR` keeps all of them; docs/img gets what the docs use.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { root } from './bootstrap/root.mjs';
import { say } from './bootstrap/say.mjs';
import { toPalettePng } from './screenshots/palette-png.mjs';

/** What the documents show; the rest is for looking at. */
const kept = new Set([
  'overview-light-1280',
  'overview-dark-1280',
  'fair-light-1280',
  'fair-dark-1280',
  'job-light-1280',
  'job-dark-1280',
  'job-dark-400',
  'sets-light-1280',
  'sets-dark-1280',
]);

const looks = /** @type {const} */ ([
  { scheme: 'light', width: 1280, height: 860 },
  { scheme: 'dark', width: 1280, height: 860 },
  { scheme: 'light', width: 400, height: 860 },
  { scheme: 'dark', width: 400, height: 860 },
]);

await bootstrap('.');
const allDirectory = process.argv[process.argv.indexOf('--all') + 1];
const isAll = process.argv.includes('--all') && allDirectory !== undefined;
const docsDirectory = join(root, 'docs/img');
for (const directory of isAll ? [docsDirectory, allDirectory] : [docsDirectory])
  mkdirSync(directory, { recursive: true });

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
});
const pages = await Promise.all(
  looks.map(async ({ scheme, width, height }) => {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } });
    return { name: `${scheme}-${width}`, page: await context.newPage() };
  }),
);
const command = join(root, 'packages/cli/bin/syncline.js');
const demo = spawn(process.execPath, [command, 'demo', '--json'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
let url = '';
let shots = Promise.resolve();
/** @type {{ file: string, png: Buffer }[]} */
const taken = [];

for await (const line of createInterface({ input: demo.stdout })) {
  const event =
    /** @type {{ kind: string, act?: string, text?: string, nodes?: { url: string }[] }} */ (
      JSON.parse(line)
    );
  say(`${event.act ?? event.kind}: ${event.text ?? ''}`);
  if (event.kind === 'started') {
    url = event.nodes?.[0]?.url ?? '';
  }
  const moment = momentOf(event);
  if (moment !== undefined) shots = shots.then(() => shoot(moment));
  if (event.kind === 'ended') void shots.finally(() => demo.kill('SIGTERM'));
}
await shots;
await browser.close();
// Not before: it takes longer than the demo waits.
for (const { file, png } of taken) {
  const picture = toPalettePng(png);
  if (kept.has(file)) writeFileSync(join(docsDirectory, `${file}.png`), picture);
  if (isAll) writeFileSync(join(allDirectory, `${file}.png`), picture);
}

/**
 * @typedef {object} Moment
 * @property {number} [afterMs]
 * @property {boolean} [isHeld] The demo waits until the pictures are taken. Its nodes go on, but their links are in it.
 * @property {Record<string, string>} views
 */

/**
 * @param {{ kind: string, act?: string, text?: string }} event
 * @returns {Moment | undefined} What to look at, by name.
 */
function momentOf({ kind, act, text = '' }) {
  if (act === 'fair' && /tracker first/.test(text))
    return { afterMs: 7_000, views: { fair: 'fair?tracker=demo-api' } };
  if (act === 'jobs' && /show as lost/.test(text))
    return {
      isHeld: true,
      views: { job: 'jobs/demo-nightly?task=14&tag=parse', jobs: 'jobs' },
    };
  if (act === 'sets' && /cut off/.test(text))
    return { views: { 'sets-cut': 'sets', 'overview-cut': '' } };
  if (act === 'sets' && kind === 'check')
    return {
      views: {
        sets: 'sets',
        set: `sets/${Buffer.from('demo:carts').toString('base64url')}`,
        overview: '',
      },
    };
  if (act === 'streams' && /Killed \(2\)/.test(text))
    return { isHeld: true, views: { streams: 'streams' } };
  if (kind === 'ended') return { views: { 'streams-ended': 'streams' } };
  return undefined;
}

/** @param {Moment} moment */
async function shoot({ afterMs = 0, isHeld = false, views }) {
  await sleep(afterMs);
  if (isHeld) demo.kill('SIGSTOP');
  await shootViews(views).finally(() => isHeld && demo.kill('SIGCONT'));
}

/** @param {Record<string, string>} views */
async function shootViews(views) {
  for (const [view, path] of Object.entries(views)) {
    await Promise.all(
      pages.map(async ({ name, page }) => {
        await page.goto(url + path);
        await page.getByText('Live', { exact: true }).waitFor();
        await sleep(1_200);
        const file = `${view}-${name}`;
        if (kept.has(file) || isAll)
          taken.push({ file, png: await page.screenshot({ fullPage: true }) });
      }),
    );
  }
}
