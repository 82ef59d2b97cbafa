// `syncline demo`: every act ends with a fact that is true, and nothing is left behind.
import { readdir } from 'node:fs/promises';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { CliProcess } from './cli-process.js';

interface DemoLine {
  readonly kind: string;
  readonly act?: string;
  readonly ok?: boolean;
  readonly text?: string;
}

function linesOf({ stdout }: CliProcess): readonly DemoLine[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as DemoLine);
}

test('all acts play, every check passes, and no file is left', async () => {
  await using directory = await makeTempDirectory('demo');
  await using demo = new CliProcess(['demo', '--fast', '--json'], {
    environment: { TMPDIR: directory.path },
  });
  // Each has a deadline of its own: on a busy machine the whole takes longer.
  for (const act of ['fair', 'jobs', 'sets', 'streams']) {
    await demo.until(`the check of ${act}`, () =>
      linesOf(demo).find((line) => line.kind === 'check' && line.act === act),
    );
  }
  expect({ ...(await demo.end()), stderr: demo.stderr }).toEqual({
    code: 0,
    signal: undefined,
    stderr: '',
  });
  const checks = linesOf(demo).filter(({ kind }) => kind === 'check');
  expect(checks.map(({ act, ok }) => ({ act, ok }))).toEqual([
    { act: 'fair', ok: true },
    { act: 'jobs', ok: true },
    { act: 'sets', ok: true },
    { act: 'streams', ok: true },
  ]);
  expect(await readdir(directory.path)).toEqual([]);
});

test('Ctrl-C in the middle of an act ends nodes and workers, and leaves no file', async () => {
  await using directory = await makeTempDirectory('demo');
  await using demo = new CliProcess(['demo', '--act', 'jobs', '--json'], {
    environment: { TMPDIR: directory.path },
    isGroup: true,
  });
  const url = await demo.until('the first step', () => {
    const [step] = linesOf(demo).filter(({ kind }) => kind === 'step');
    return step === undefined ? undefined : (step as { readonly url?: string }).url;
  });
  demo.pressControlC();
  expect(await demo.end()).toEqual({ code: 130, signal: undefined });
  expect(demo.stderr).toBe('Stopped.\n');
  expect(await readdir(directory.path)).toEqual([]);
  await expect(fetch(url)).rejects.toThrow();
});

test('an act that does not exist is refused, with a list of those that do', async () => {
  await using demo = new CliProcess(['demo', '--act', 'opera']);
  expect((await demo.end()).code).toBe(2);
  expect(demo.stderr).toMatch(/--act is "opera"; expected one of: fair, jobs, sets, streams\./);
});
