// The streams examples, as a user runs them: one is killed, one reads from a real Redis, one reports to a job.
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { runProgram } from './run-program.js';

async function runExample(name: string) {
  await using directory = await makeTempDirectory('example');
  const program = fileURLToPath(new URL(`../examples/dist/${name}.js`, import.meta.url));
  const { code, stdout, stderr } = await runProgram(process.execPath, [program], {
    environment: { TMPDIR: directory.path },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(await readdir(directory.path)).toEqual([]);
  return stdout;
}

test('orders from a file: killed and restarted, the output is identical', async () => {
  const story = await runExample('streams-orders');
  expect(story).toMatch(/kill -9 \d+/);
  expect(story).toMatch(/killed \d times: 400000 lines of output/);
  expect(story).toMatch(/identical to the output of the run that was not killed\n$/);
});

test('orders from Redis Streams: stopped in the middle, every order counts once', async () => {
  const story = await runExample('streams-redis');
  const [, ordered, counted] = /(\d+) cents ordered, (\d+) counted\n$/.exec(story) ?? [];
  expect(counted).toBe(ordered);
});

test('a pipeline reports its progress as a job', async () => {
  expect(await runExample('streams-progress')).toMatch(
    /^job counts: 100%, finished, 200000 records, epoch \d+\n$/,
  );
});
