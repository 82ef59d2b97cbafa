// The jobs example, as a user runs it: real processes, one of them killed, and a watcher that counts.
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { runProgram } from './run-program.js';

const EXAMPLE = fileURLToPath(new URL('../examples/dist/jobs-nightly.js', import.meta.url));
const STEP_MS = '50';

test('a killed task is lost, taken over and finished; the watcher misses nothing; nothing is left behind', async () => {
  await using directory = await makeTempDirectory('example');
  const { code, stdout, stderr } = await runProgram(process.execPath, [EXAMPLE, STEP_MS], {
    environment: { TMPDIR: directory.path },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const story = [/kill -9 \d+/, /task 2: lost, epoch 1/, /task 2: held, epoch 2/, /at 100%/];
  const places = story.map((line) => stdout.search(line));
  expect(places[0]).toBeGreaterThan(0);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(stdout).toMatch(/saw revisions 1 to \d+, each once, none missing\n$/);
  expect(await readdir(directory.path)).toEqual([]);
});
