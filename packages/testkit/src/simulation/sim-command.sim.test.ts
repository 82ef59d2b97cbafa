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
  const { exitCode, out, error } = await run('--seeds', '2', '--json');
  expect(exitCode).toBe(0);
  expect(error).toMatch(/^register: 2 seeds in /m);
  expect(JSON.parse(out)).toMatchObject({ workload: 'register', seedsCount: 2, problem: null });
});

test('a seed that fails: exit 1, the trace when it was asked for by number', async () => {
  const args = ['--bug', 'lost-update-on-reconnect'];
  const { exitCode, out, error } = await run('--seeds', '200', ...args);
  expect(exitCode).toBe(1);
  expect(out).toBe('');
  const replay = /replay: npm run test:sim -- (.*)$/m.exec(error)?.[1]?.split(' ') ?? [];
  const again = await run(...replay);
  expect(again.exitCode).toBe(1);
  expect(again.error).toMatch(/^ +\d+\.\d+ ms +arrive /m);
  expect(again.error).toContain(error.split('\n')[1]); // the same finding
});

test('wrong usage: exit 2 and one line that says what', async () => {
  for (const [args, message] of [
    [['--seeds', 'many'], /--seeds many is no count/],
    [['--seeds', '0'], /no count/],
    [['--seed', 'x'], /no seed/],
    [['--bug', 'none'], /no bug "none"/],
    [['--workload', 'none'], /no workload "none"/],
    [['--unknown'], /unknown/i],
  ] as const) {
    const { exitCode, out, error } = await run(...args);
    expect(exitCode).toBe(2);
    expect(out).toBe('');
    expect(error).toMatch(message);
  }
});

test('help goes to standard output', async () => {
  const { exitCode, out } = await run('--help');
  expect(exitCode).toBe(0);
  expect(out).toMatch(/npm run test:sim -- --seed 17/);
});
