import { expect, test } from 'vitest';
import { runSimCommand } from './sim-command.js';

async function run(...args: string[]) {
  const result = { out: '', error: '' };
  const exitCode = await runSimCommand(args, {
    writeOut: (text) => {
      result.out += text;
    },
    writeError: (text) => {
      result.error += text;
    },
    commit: 'abc1234',
  });
  return { exitCode, ...result };
}

test('seeds that pass: exit 0, a summary on standard error, JSON on standard output', async () => {
  const { exitCode, out, error } = await run('--workload', 'mesh', '--seeds', '2', '--json');
  expect(exitCode).toBe(0);
  expect(error).toMatch(/^mesh: 2 seeds in /m);
  expect(JSON.parse(out)).toMatchObject({ workload: 'mesh', seedsCount: 2, problem: null });
});

test('a seed that fails: exit 1, the trace if the seed was given by number', async () => {
  const args = ['--bug', 'mesh-delivered-twice'];
  const { exitCode, out, error } = await run('--seeds', '200', ...args);
  expect(exitCode).toBe(1);
  expect(out).toBe('');
  const replay = /replay: npm run test:sim -- (.*)$/m.exec(error)?.[1]?.split(' ') ?? [];
  const again = await run(...replay);
  expect(again.exitCode).toBe(1);
  expect(again.error).toMatch(/^ +\d+\.\d+ ms +arrive /m);
  expect(again.error).toContain(error.split('\n')[1]); // the same failure
});

test('one seed by number shows the end of its trace; twice says that both were equal', async () => {
  const { exitCode, error } = await run('--workload', 'mesh', '--seed', '17', '--twice');
  expect(exitCode).toBe(0);
  expect(error).toMatch(/^ +\d+\.\d+ ms +\w/m);
  expect(error).toMatch(/^mesh: 1 seed in .* \d+\.\d s simulated$/m);
  expect(error).toMatch(/^mesh: trace [0-9a-f]{16}, the same in both runs of each seed$/m);
});

test('K81 equal seeds have equal trace hashes', async () => {
  const hashOf = async (seed: string) =>
    (
      JSON.parse((await run('--workload', 'mesh', '--seed', seed, '--json')).out) as {
        traceHash: string;
      }
    ).traceHash;
  expect(await hashOf('3')).toBe(await hashOf('3'));
  expect(await hashOf('3')).not.toBe(await hashOf('4'));
});

test('wrong usage: exit 2 and one line that says what is wrong', async () => {
  for (const [args, message] of [
    [['--seeds', 'many'], /--seeds must be an integer of at least 1, not "many"/],
    [['--seeds', '0'], /an integer of at least 1/],
    [['--seed', 'x'], /--seed must be an integer of at least 0, not "x"/],
    [['--seed', '-1'], /--seed takes no value that begins with a dash/],
    [['--seed', '1', '--seeds', '3'], /leave out/],
    [['--bug', 'none'], /Unknown bug "none". Expected one of: .*mesh-delivered-twice/],
    [['--workload', 'none'], /Unknown workload "none". Expected one of: fair, mesh/],
    [['--unknown'], /unknown option '--unknown'\. See/i],
  ] as const) {
    const { exitCode, out, error } = await run(...args);
    expect(exitCode).toBe(2);
    expect(out).toBe('');
    expect(error).toMatch(message);
    expect(error).toMatch(/^.* See "npm run test:sim -- --help".\n$/);
  }
});

test('help goes to standard output', async () => {
  const { exitCode, out } = await run('--help');
  expect(exitCode).toBe(0);
  expect(out).toMatch(/npm run test:sim -- --seed 17/);
  expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(await run('-h')).toMatchObject({ exitCode: 0, out });
});
