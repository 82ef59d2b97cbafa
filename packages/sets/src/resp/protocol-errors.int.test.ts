// The same bytes sent to a real redis-server and to a session: how both respond, and how they end.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createSystemClock } from '@syncline/kernel';
import { type RedisServer, startRedis } from '@syncline/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCommandVectors } from './testing/command-vectors.js';
import { SessionRig } from './testing/session-rig.js';

const file = new URL('../../testdata/resp-commands.txt', import.meta.url);
const vectors = readCommandVectors(readFileSync(file, 'utf8'));

/** Where we are stricter, or accept less: what Redis replies to these bytes instead. */
const differences: ReadonlyMap<string, string> = new Map([
  ['a count beyond the limit', ''],
  ['a count whose line ends wrongly', '+PONG\r\n'],
  ['a length beyond the limit', ''],
  ['a length whose line ends wrongly', '+PONG\r\n'],
  ['a length that is too small', '+PONG\r\n$2\r\nab\r\n+PONG\r\n'],
  [
    'a length that is too large',
    "$5\r\nabc\r\n\r\n-ERR unknown command '$4', with args beginning with: \r\n+PONG\r\n",
  ],
  ['an inline word may hold a zero byte', ''],
]);

let redis: RedisServer;
let closedRedis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
  closedRedis = await startRedis('--requirepass', 'secret');
});

afterAll(async () => {
  await redis[Symbol.asyncDispose]();
  await closedRedis[Symbol.asyncDispose]();
});

describe('S13 redis-server and a session give the same replies', () => {
  const known = new Set(['PING', 'ECHO', 'QUIT']);
  const comparable = vectors.filter(({ commands }) =>
    commands.every(([name = '', ...words]) => known.has(name) && words.length < 2),
  );

  test.each(comparable)('$name', async ({ name, bytes }) => {
    const theirs = await ask(redis, bytes);
    const difference = differences.get(name);
    if (difference === undefined) expect(askSession(bytes)).toBe(theirs);
    else expect(theirs).toBe(difference);
    expect(askSession(bytes) !== theirs).toBe(difference !== undefined);
  });

  test('a line end where a length should be', async () => {
    const bytes = Buffer.from('*1\r\n\r\n');
    expect(askSession(bytes)).toBe("-ERR Protocol error: expected '$', got ' '\r\n");
    expect(await ask(redis, bytes)).toBe(askSession(bytes));
  });

  const long = 'x'.repeat(65_537);
  test.each([long, `*${long.slice(1)}`, `*1\r\n$${long.slice(1)}`])(
    'a line that is too long (%#)',
    async (text) => {
      const bytes = Buffer.from(text);
      expect(askSession(bytes)).toMatch(/^-ERR Protocol error: too big /);
      expect(await ask(redis, bytes)).toBe(askSession(bytes));
    },
  );

  test.each(['*11\r\n', '*2\r\n$4\r\nAUTH\r\n$16385\r\n', '*10\r\n$16384\r\n'])(
    'before AUTH (%#)',
    async (text) => {
      const bytes = Buffer.from(text);
      expect(await ask(closedRedis, bytes)).toBe(askSession(bytes, { hasPassword: true }));
    },
  );
});

/** Everything that the server sends until it closes, at the latest when it has read everything. */
function ask({ port }: RedisServer, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    socket.end(bytes);
  });
}

function askSession(bytes: Uint8Array, options = {}): string {
  const rig = new SessionRig(createSystemClock(), options);
  rig.commands.set('PING', ({ reply }) => reply.simple('PONG'));
  const client = rig.connect();
  void client.session.push(bytes);
  const answer = client.read();
  client.leave();
  return answer;
}
