// Workers as real threads: the same pipeline with a different number of them at each start, killed at random.
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSeededRandom } from '@syncline/kernel/testing';
import {
  makeMemoryDirectory,
  runKilled,
  type StreamPlan,
  type TempDirectory,
  totalOf,
} from '@syncline/testkit';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

const KILLS = Math.ceil(inject('streamsKills') / 12);
interface Order {
  readonly user: string;
  readonly amount: number;
}

const FILES = 4;
const ORDERS = 12_000;

let directory: TempDirectory;
let orders: readonly Order[] = [];
let files: readonly string[] = [];

beforeAll(async () => {
  directory = await makeMemoryDirectory('workers');
  const random = createSeededRandom('workers');
  orders = Array.from({ length: ORDERS }, () => ({
    user: `user-${random.u32() % 200}`,
    amount: random.u32() % 1_000,
  }));
  files = Array.from({ length: FILES }, (_, file) => join(directory.path, `in-${file}.jsonl`));
  for (const [file, path] of files.entries()) {
    const own = orders.filter((_, index) => index % FILES === file);
    await writeFile(path, own.map((order) => `${JSON.stringify(order)}\n`).join(''));
  }
});
afterAll(() => directory[Symbol.asyncDispose]());

function planOf(round: string, workers: readonly number[]) {
  const out = join(directory.path, `${round}-out`);
  const plan: StreamPlan = {
    dir: join(directory.path, `${round}-state`),
    from: { kind: 'files', files },
    to: { files: out },
    paceMs: 40,
    keepDeliveredMs: 10_000,
    workers,
  };
  return { plan, out };
}

test(
  'X54 X64 threads 1, 2, 8, 3: every order counts once however often the process is killed',
  async () => {
    const random = createSeededRandom('workers/kills');
    for (let kills = 0, round = 0; kills < KILLS; round += 1) {
      const { plan, out } = planOf(`kills-${round}`, [1, 2, 8, 3]);
      kills += totalOf(await runKilled(plan, { random, killsMax: KILLS - kills }));
      checkTotals(await linesIn(out));
    }
  },
  180_000 + 20_000 * KILLS, // only against a hang
);

test('a thread that exits in the middle of its work is restarted with all others', async () => {
  const { plan, out } = planOf('exit', [3]);
  const exitOnce = join(directory.path, 'exited');
  const random = createSeededRandom('workers/exit');
  expect(totalOf(await runKilled({ ...plan, exitOnce }, { random, killsMax: 0 }))).toBe(0);
  expect((await stat(exitOnce)).isFile()).toBe(true);
  checkTotals(await linesIn(out));
});

async function linesIn(dir: string): Promise<readonly string[]> {
  const parts = (await readdir(dir)).filter((name) => name.startsWith('part-')).sort();
  const texts = await Promise.all(parts.map((name) => readFile(join(dir, name), 'utf8')));
  return texts.join('').split('\n').slice(0, -1);
}

/** A user's lines are in order, each with the sum of all before it, and every order is there once. */
function checkTotals(lines: readonly string[]): void {
  const sums = new Map<string, number>();
  const seen: string[] = [];
  for (const line of lines) {
    const { user, amount, total } = JSON.parse(line) as Order & { readonly total: number };
    const sum = (sums.get(user) ?? 0) + amount;
    if (total !== sum) throw new Error(`running total of ${user}: ${total}, expected ${sum}`);
    sums.set(user, sum);
    seen.push(`${user} ${amount}`);
  }
  expect(seen.sort()).toEqual(orders.map(({ user, amount }) => `${user} ${amount}`).sort());
}
