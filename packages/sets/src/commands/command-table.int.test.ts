// For commands that Redis has, arity, flags and keys match those that Redis reports. Clients route by them.
import { silentMetrics } from '@syncline/kernel';
import { type RedisServer, startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KnownCommand } from './command.js';
import { createCommandTable } from './command-table.js';

/** From Redis 7.2. */
const newer = ['client|no-touch', 'client|setinfo'];

type Entry = readonly [
  name: string,
  arity: number,
  flags: readonly string[],
  first: number,
  last: number,
  step: number,
];

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});

afterAll(async () => {
  redis.disconnect();
  await server[Symbol.asyncDispose]();
});

test('S13 arity, flags and keys of every command are those of Redis', async () => {
  const all = createCommandTable({ metrics: silentMetrics }).all.flatMap((known) => [
    known,
    ...(known.subcommands?.all ?? []),
  ]);
  const ours = all.filter(
    ({ fullName }) => !fullName.startsWith('syncline.') && !newer.includes(fullName),
  );
  const names = ours.map(({ fullName }) => fullName);
  const theirs = (await redis.call('COMMAND', 'INFO', ...names)) as Entry[];
  expect(ours.map(describe)).toEqual(
    theirs.map(([name, arity, flags, first, last, step]) => ({
      name,
      arity,
      flags: [...flags].sort(),
      keys: [first, last, step],
    })),
  );
});

function describe({ command, fullName }: KnownCommand) {
  const { arity, flags, keys } = command;
  return {
    name: fullName,
    arity,
    flags: [...flags].sort(),
    keys: [keys?.first ?? 0, keys?.last ?? 0, keys?.step ?? 0],
  };
}
