// The source and the sink of the example pass the tests of all sources and sinks, and every crash.
import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createSystemClock, silentLogger } from '@syncline/kernel';
import { createSystemFiles } from '@syncline/kernel/node';
import { definePipeline, type Json } from '@syncline/streams';
import { crashTest, sinkSuite, sourceSuite } from '@syncline/streams/testing';
import { makeTempDirectory } from '@syncline/testkit';
import { describe, expect, test } from 'vitest';
import { spoolSource, tableSink } from './streams-ends-of-your-own.js';

const ports = {
  files: createSystemFiles('/'),
  path: (path: string) => path.slice(1),
  clock: createSystemClock(),
  logger: silentLogger,
};
const nameOf = (n: number) => `${String(n).padStart(6, '0')}.json`;

test('the example copies its records and leaves no file behind', async () => {
  await using directory = await makeTempDirectory('example');
  const program = fileURLToPath(new URL('dist/streams-ends-of-your-own.js', import.meta.url));
  const env = { ...process.env, TMPDIR: directory.path };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  expect(stdout).toBe('[ 1, 2, 3 ]\n');
  expect(await readdir(directory.path)).toEqual([]);
});

describe('a source of your own', () => {
  const cases = sourceSuite(async () => {
    const directory = await makeTempDirectory('spool');
    const dir = directory.path;
    let count = 0;
    const append = (text: string) => {
      count += 1;
      return writeFile(join(dir, nameOf(count)), text);
    };
    return {
      open() {
        const source = spoolSource('in', dir);
        source.attach?.(ports);
        return source;
      },
      partition: dir,
      async append(records) {
        for (const record of records) await append(JSON.stringify(record));
      },
      appendBad: () => append('{broken'),
      losses: { removed: () => rm(join(dir, nameOf(3))) },
      [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
    };
  }, ['removed']);
  test.each(cases)('$name', ({ run }) => run());
});

describe('a sink of your own', () => {
  const cases = sinkSuite(
    async () => {
      const directory = await makeTempDirectory('table');
      const file = join(directory.path, 'out.json');
      return {
        open() {
          const sink = tableSink('out', file);
          sink.attach?.(ports);
          return sink;
        },
        async visible() {
          const text = await readFile(file, 'utf8').catch(() => '{"rows":[]}');
          return (JSON.parse(text) as { readonly rows: readonly Json[] }).rows;
        },
        [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
      };
    },
    { remembers: true },
  );
  test.each(cases)('$name', ({ run }) => run());
});

test('a pipeline from one to the other survives every crash', async () => {
  const records = Array.from({ length: 70 }, (_, n) => [`in/${nameOf(n)}`, `${n}`] as const);
  const report = await crashTest(
    () => ({
      files: Object.fromEntries(records),
      pipeline: definePipeline('copy', (p) =>
        p.source(spoolSource('in', 'in')).to(tableSink('out', 'out.json')),
      ),
      async output(files) {
        const stat = await files.stat('out.json');
        if (stat === undefined) return { out: '' };
        const text = Buffer.from(await files.readAt('out.json', 0, stat.bytes)).toString();
        const { rows } = JSON.parse(text) as { readonly rows: readonly Json[] };
        return { out: rows.map((row) => `${JSON.stringify(row)}\n`).join('') };
      },
    }),
    { statesMax: 200, chains: 10 },
  );
  expect(report.failures).toEqual([]);
  expect(report.checkpoints).toBeGreaterThanOrEqual(3);
});
