// redis-py, a client in another language, against our server and against Redis.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { TARGETS } from './sets-targets.js';

const PROGRAM = fileURLToPath(new URL('clients/redis-py.py', import.meta.url));
/** Debian's own Python, which has the client as a package. */
const PYTHON = '/usr/bin/python3';

/** Runs the program; calls `restart` when the program asks for it. Returns the output of each step. */
async function runClient(
  args: readonly string[],
  restart: () => Promise<void> = async () => undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const child = spawn(PYTHON, [PROGRAM, ...args], { signal: AbortSignal.timeout(120_000) });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const steps: Record<string, unknown> = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const { step, value } = JSON.parse(line) as { step: string; value: unknown };
    steps[step] = value;
    if (step !== 'restart') continue;
    await restart();
    child.stdin.end('go on\n');
  }
  expect({ code: await ended, complaint }).toEqual({ code: 0, complaint: '' });
  return steps;
}

const EXPECTED = {
  ping: true,
  sadd: 3,
  smembers: ['a', 'b', 'c'],
  sinter: ['a', 'b', 'c'],
  spop: null,
  type: 'set',
  info: '7.',
  error: "wrong number of arguments for 'sadd' command",
  pipeline: 1000,
  multi: [2, 1, 1],
  watch: 'touched',
  sscan: 2000,
  scan: ['scanned'],
  kept: ['after', 'before'],
};

test.each(TARGETS)(
  '$name: commands, pipelines, transactions and iterators; kill -9 of our server loses nothing',
  async ({ start }) => {
    await using target = await start();
    const steps = await runClient([String(target.port)], () => target.crash());
    expect(steps).toMatchObject(EXPECTED);
  },
);

test.each(TARGETS)('$name: with a password, and not without it', async ({ start }) => {
  const password = 'open-sesame-open-sesame';
  await using target = await start(password);
  expect(await runClient([String(target.port), password])).toMatchObject({
    ...EXPECTED,
    'no password': 'AuthenticationError',
    'wrong password': 'ResponseError',
  });
});
