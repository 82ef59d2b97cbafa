// Load on sets: redis-benchmark as its users run it, and a simple way to fill a set with numbered members.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { withClient } from './sets-servers.js';

const CONNECTIONS = 50;
const TIMEOUT_MS = 300_000;
/** Members per SADD when a set is filled. */
const FILL_BATCH = 1_000;

export interface Load {
  readonly port: number;
  readonly count: number;
  readonly pipeline: number;
  /** A command; `__rand_int__` stands for one of a million numbers of 12 digits. */
  readonly words: readonly string[];
}

/** A member of 20 bytes, different for each command. */
export const RANDOM_MEMBER = 'element:__rand_int__';

/** Resolves when all commands are answered. */
export async function runBenchmark({ port, count, pipeline, words }: Load): Promise<void> {
  const numbers = { '-p': port, '-c': CONNECTIONS, '-n': count, '-r': 1_000_000, '-P': pipeline };
  const options = Object.entries(numbers).flatMap(([name, value]) => [name, String(value)]);
  await promisify(execFile)('redis-benchmark', [...options, '-q', ...words], {
    timeout: TIMEOUT_MS,
  });
}

/** Members `element:000000000000` and up: those that the load above draws from. */
export async function fillSet(port: number, name: string, members: number): Promise<void> {
  await withClient(port, async (client) => {
    for (let start = 0; start < members; start += FILL_BATCH) {
      const count = Math.min(FILL_BATCH, members - start);
      const batch = Array.from({ length: count }, (_, index) => memberOf(start + index));
      await client.sadd(name, ...batch);
    }
  });
}

function memberOf(number: number): string {
  return `element:${String(number).padStart(12, '0')}`;
}
