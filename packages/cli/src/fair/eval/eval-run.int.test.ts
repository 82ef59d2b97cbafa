// The whole command with real servers, kept short with flags.
import '@syncline/server'; // loaded here, so that its load time does not count against the first test
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judge, type OpenFleet, openIsolatedFleet, scenarios, Trial } from '@syncline/fair/testing';
import { expect, test } from 'vitest';
import type { CliWorld, StopEvent } from '../../cli-world.js';
import { runCli } from '../../run-cli.js';
import { redisFleets } from './redis-fleet.js';
import { startRedisProcess } from './redis-process.js';
import { openServiceFleet } from './service-fleet.js';

async function run(line: string, onStopEvent: CliWorld['onStopEvent'] = () => {}) {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  const world: CliWorld = {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    environment: {},
    onStopEvent,
    onSuspend() {},
    ask: async () => undefined,
    reportStarted() {},
    makeNewFilesPrivate() {},
    exitNow: () => expect.unreachable(),
  };
  const exit = await runCli(world, line.split(' '));
  return { ...written, exit };
}

/** Twenty seconds, in which three instances learn who is noisy. */
async function playShort(openFleet: OpenFleet) {
  const trial = new Trial({ ...scenarios.apiNoisyNeighbors, durationSeconds: 20 }, 1);
  const options = { policy: 'linear', instances: 3, intervalMs: 500 } as const;
  return judge(await trial.play(openFleet, options));
}

test('instances share their outcomes over real sockets, through the service or Redis', async () => {
  const redis = await startRedisProcess();
  try {
    const service = await playShort(openServiceFleet);
    const overRedis = await playShort(redisFleets(redis.url));
    const alone = await playShort(openIsolatedFleet);
    for (const shared of [service, overRedis]) {
      expect(shared.jain).toBeGreaterThan(alone.jain + 0.05);
      expect(shared.throttled).toBeGreaterThan(alone.throttled * 1.1);
    }
  } finally {
    await redis.stop();
  }
});

test('with --json, each row is one object on one line', async () => {
  const { stdout, exit } = await run(
    'fair eval --scenario flash-crowd --policy linear --instances 2 --via isolated --seeds 1 --json',
  );
  expect(exit).toBe(0);
  const rows = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows.map(({ policy, via, instances }) => [policy, via, instances])).toEqual([
    [null, null, null],
    ['linear', null, 1],
    ['linear', 'isolated', 2],
  ]);
  for (const row of rows) expect(row).toMatchObject({ scenario: 'flash-crowd', seeds: 1 });
});

test('a check that passes says so, and a chart is written', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'syncline-eval-'));
  try {
    const file = join(directory, 'fair.html');
    const { stdout, stderr, exit } = await run(
      `fair eval --scenario flash-crowd --policy linear --seeds 2 --check --picture ${file}`,
    );
    expect(stderr).toBe(`Chart written to ${file}\nThe threshold was met.\n`);
    expect(exit).toBe(0);
    const heading =
      /^flash-crowd {2}mean of 2 seeds; 300 per second.*\n {2}requested by .*\n {2,}J +J30/;
    expect(stdout).toMatch(heading);
    expect(readFileSync(file, 'utf8')).toMatch(/^<!doctype html>.*<svg .*<table>/s);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('F16 with every fault fairness stays above the baseline without throttling, and a killed service has its own threshold', async () => {
  const { stdout, stderr, exit } = await run(
    'fair eval --faults --check --policy linear --seeds 1 --instances 2 --interval-ms 1000',
  );
  expect(stderr).toMatch(/^All 9 thresholds were met\.$/m);
  expect(exit).toBe(0);
  expect(stdout).toMatch(/linear, 2 ×, 1% lost .*while it is down: J 0\.\d{3}/s);
});

test('a chart that cannot be written is reported with the reason before anything runs', async () => {
  const { stdout, stderr, exit } = await run(
    'fair eval --scenario flash-crowd --policy linear --seeds 1 --picture /no/such/dir/fair.svg',
  );
  expect({ stdout, stderr, exit }).toMatchObject({
    stdout: '',
    stderr: expect.stringMatching(/^syncline: cannot write --picture: ENOENT/),
    exit: 2,
  });
});

test('a Redis that does not answer is reported immediately, without its password', async () => {
  const { stdout, stderr, exit } = await run(
    'fair eval --instances 2 --via redis --redis-url redis://user:s3cret@127.0.0.1:1',
  );
  expect({ stdout, exit }).toEqual({ stdout: '', exit: 3 });
  expect(stderr).toMatch(/^syncline: cannot share through Redis at 127\.0\.0\.1:1 \(.*refused/i);
  expect(stderr).not.toContain('s3cret');
});

test('Ctrl-C stops the evaluation cleanly between two intervals', async () => {
  const press = (listener: (event: StopEvent) => void) => setImmediate(() => listener('SIGINT'));
  const { stdout, stderr, exit } = await run('fair eval --instances 2', press);
  expect({ stdout, exit }).toEqual({ stdout: '', exit: 1 });
  expect(stderr).toBe('syncline: stopped by SIGINT before the end.\n');
});
