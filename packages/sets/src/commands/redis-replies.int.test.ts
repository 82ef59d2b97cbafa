// Records the replies of a real redis-server (`vitest -u` writes them), and checks that the record is still true.
// `redis-replies.sim.test.ts` compares our own replies with the same record.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { silentMetrics } from '@syncline/kernel';
import { type RedisServer, startRedis } from '@syncline/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandsOf, renderConversation } from '../testing/conversation.js';
import { encodeCommand } from '../testing/talk.js';
import { absentCommands } from './absent-commands.js';
import { createCommandTable } from './command-table.js';

const directory = join(import.meta.dirname, '../../testdata/redis-replies');

let redis: RedisServer;
let lockedRedis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
  lockedRedis = await startRedis('--requirepass', 'secret');
});

afterAll(async () => {
  await redis[Symbol.asyncDispose]();
  await lockedRedis[Symbol.asyncDispose]();
});

test.each(readdirSync(directory))('S13 %s is what Redis answers', async (file) => {
  const path = join(directory, file);
  const commands = commandsOf(readFileSync(path, 'utf8'));
  const server = file === 'password.txt' ? lockedRedis : redis;
  await talk(redis, [['FLUSHALL']]);
  const output = await talk(
    server,
    commands.map(({ words }) => words),
  );
  await expect(renderConversation(commands, output)).toMatchFileSnapshot(path);
});

test('every name that Redis knows is supported, or listed once among the absent ones', async () => {
  const output = await talk(redis, [['COMMAND', 'LIST']]);
  const names = output.split('\r\n').filter((line) => /^[a-z_-]+$/.test(line));
  const { all } = createCommandTable({ metrics: silentMetrics });
  const answered = new Set(all.map(({ fullName }) => fullName));
  const absent = absentCommands.flatMap((group) => group.names);
  expect(absent.toSorted()).toEqual(names.filter((name) => !answered.has(name)).sort());
});

/** Sends everything at once, then QUIT; returns every byte except the reply to QUIT. */
async function talk(
  { port }: RedisServer,
  commands: readonly (readonly string[])[],
): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let output = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    output += text;
  });
  socket.write(Buffer.concat([...commands, ['QUIT']].map(encodeCommand)));
  await once(socket, 'close');
  return output.slice(0, -'+OK\r\n'.length);
}
