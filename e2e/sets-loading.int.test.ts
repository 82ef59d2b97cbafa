// A server that takes long to load its sets: it answers commands that need no sets, reports its progress, and exits
// cleanly when it is stopped or when the data turns out to be damaged. The disk is slow, so that little data is
// enough, and does not read all of it before the test says so.
import { readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeTempDirectory, type TempDirectory } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { CliProcess } from './cli-process.js';
import { SetsRawClient } from './sets-raw-client.js';

const SLOW_READS = fileURLToPath(new URL('slow-reads.mjs', import.meta.url));
/** Files are read in chunks of 1 MiB, each of which takes this long. */
const CHUNK_MS = 800;
const MEMBERS = 100;
const MEMBER_BYTES = 60_000;
const WAIT = { timeout: 60_000, interval: 20 };

let directory: TempDirectory;
const dataDir = () => join(directory.path, 'data');

beforeAll(async () => {
  directory = await makeTempDirectory('loading');
  await using server = serve({});
  const redis = new Redis(await respPort(server));
  for (let index = 0; index < MEMBERS; index += 1)
    await redis.sadd('set', `${index} `.padEnd(MEMBER_BYTES, 'x'));
  await redis.bgsave();
  await vi.waitFor(async () => expect(await redis.lastsave()).toBeGreaterThan(0), WAIT);
  redis.disconnect();
  server.child.kill('SIGTERM');
  expect(await server.end()).toMatchObject({ code: 0 });
});
afterAll(() => directory[Symbol.asyncDispose]());

function serve(environment: Readonly<Record<string, string>>): CliProcess {
  const ports = ['--http-port', '0', '--grpc-port', '0', '--resp-port', '0'];
  return new CliProcess(['serve', '--data-dir', dataDir(), ...ports], { environment });
}

/** It finishes loading once the file `signal` exists. */
function serveSlowly(signal: string): CliProcess {
  return serve({
    NODE_OPTIONS: `--import=${SLOW_READS}`,
    SLOW_READS_MS: String(CHUNK_MS),
    SLOW_READS_UNTIL: signal,
  });
}

async function respPort(server: CliProcess): Promise<number> {
  await server.url();
  return server.listeners().find(({ listener }) => listener === 'resp')?.port ?? 0;
}

function percentsIn(log: string): readonly number[] {
  const lines = log.split('\n').filter((line) => line.includes('"msg":"loading sets"'));
  return lines.map((line) => (JSON.parse(line) as { percent: number }).percent);
}

test('while the sets load, commands that need them are answered -LOADING', async () => {
  const signal = join(directory.path, 'load');
  await using server = serveSlowly(signal);
  const port = await respPort(server);
  using client = await SetsRawClient.connect(port);
  expect(await client.ask('PING')).toBe('+PONG');
  const redis = new Redis(port); // asks INFO, and waits with its commands until the sets are loaded
  const shown = redis.scard('set');
  for (const command of [['SADD', 'set', 'a'], ['SCARD', 'set'], ['KEYS', '*'], ['FLUSHALL']])
    expect(await client.ask(...command)).toBe('-LOADING Syncline is loading its sets');
  expect(await client.ask('MULTI')).toBe('+OK');
  expect(await client.ask('SADD', 'set', 'a')).toMatch(/^-LOADING/);
  expect(await client.ask('EXEC')).toMatch(/^-EXECABORT/);
  client.forget();
  client.send('INFO persistence\r\n');
  await client.until(() => client.text().includes('loading_loaded_perc'));
  expect(client.text()).toContain('loading:1\r\n');
  expect(Number(/loading_loaded_perc:([\d.]+)/.exec(client.text())?.[1])).toBeLessThan(100);
  expect(Number(/loading_total_bytes:(\d+)/.exec(client.text())?.[1])).toBeGreaterThan(
    MEMBERS * MEMBER_BYTES,
  );
  const ready = await fetch(`${await server.url()}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.text()).toMatch(/loading the sets, \d+% read/);
  expect((await fetch(`${await server.url()}/healthz`)).status).toBe(200);

  await writeFile(signal, '');
  const isReady = async () => (await fetch(`${await server.url()}/readyz`)).status;
  await vi.waitFor(async () => expect(await isReady()).toBe(200), WAIT);
  expect(await client.ask('SCARD', 'set')).toBe(`:${MEMBERS}`);
  expect(await shown).toBe(MEMBERS);
  redis.disconnect();
  expect(await client.ask('SADD', 'set', 'a')).toBe(':1');
  const percents = percentsIn(server.stderr);
  expect(percents.length).toBeGreaterThan(1);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
});

test('a server that is stopped while it loads stops without finishing', async () => {
  {
    const signal = join(directory.path, 'stop');
    await using server = serveSlowly(signal);
    await server.url();
    server.child.kill('SIGTERM');
    await writeFile(signal, ''); // the read that is running ends
    expect(await server.end()).toMatchObject({ code: 0 });
    expect(server.stderr).not.toContain('sets loaded');
  }
  await using again = serve({});
  const redis = new Redis(await respPort(again));
  expect(await redis.scard('set')).toBeGreaterThanOrEqual(MEMBERS);
  redis.disconnect();
});

test('a checkpoint that turns out to be damaged late ends the server', async () => {
  const [name = ''] = await readdir(join(dataDir(), 'sets/checkpoint'));
  await truncate(join(dataDir(), 'sets/checkpoint', name), MEMBERS * MEMBER_BYTES);
  const signal = join(directory.path, 'damaged');
  await using server = serveSlowly(signal);
  await server.url();
  await writeFile(signal, '');
  expect(await server.end()).toMatchObject({ code: 1 });
  expect(server.stderr).toMatch(/syncline: .*checkpoint.* is damaged.*Restore/);
});
