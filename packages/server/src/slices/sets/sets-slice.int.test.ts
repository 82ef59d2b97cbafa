// The sets inside a server: over RESP and HTTP, with and without a password, and across restarts. Real clients are
// tested in e2e.
import { makeTempDirectory } from '@syncline/testkit';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { Secret } from '../../config/secret.js';
import { openRawClient } from '../../testing/raw-client.js';
import { startTestServer, type TestServer } from '../../testing/test-server.js';
import { until } from '../../testing/until.js';
import { createSetsSlice } from './sets-slice.js';

async function factsOf(server: TestServer): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${server.port('http')}/api/sets`);
  return (await response.json()) as Record<string, unknown>;
}

test('GET /api/sets returns the same digest as SYNCLINE.DIGEST', async () => {
  await using server = await startTestServer([createSetsSlice()], { settings: { nodeId: 7 } });
  const redis = new Redis(server.port('resp'));
  await redis.sadd('fruits', 'apple', 'pear');
  await redis.sadd('tools', 'saw');
  const [version, liveDots, xor] = (await redis.call('SYNCLINE.DIGEST')) as [
    string,
    number,
    string,
  ];
  expect(await factsOf(server)).toMatchObject({
    health: 'ready',
    sets: 2,
    connections: 1,
    version,
    liveDots,
    xor,
  });
  expect(liveDots).toBe(3);
  expect(version).toMatch(/^7\.\d+:3$/);
  expect(xor).toMatch(/^[0-9a-f]{16}$/);
  redis.disconnect();
});

test('the status contains figures, but no names of sets or members', async () => {
  await using server = await startTestServer([createSetsSlice()]);
  const redis = new Redis(server.port('resp'));
  await redis.sadd('secret-set', 'secret-member');
  const status = await fetch(`http://127.0.0.1:${server.port('http')}/api/status`);
  const text = await status.text();
  expect(JSON.parse(text)).toMatchObject({
    slices: [{ name: 'sets', health: { kind: 'ready' }, details: { sets: 1, elements: 1 } }],
  });
  expect(text + JSON.stringify(server.log)).not.toMatch(/secret-/);
  redis.disconnect();
});

test('sets survive a restart, and the epoch increases only after an unclean stop', async () => {
  await using directory = await makeTempDirectory('sets');
  const settings = { dataDir: directory.path, sets: { durability: 'synced' } };
  const epochs: unknown[] = [];
  for (const member of ['one', 'two']) {
    await using server = await startTestServer([createSetsSlice()], { settings });
    const redis = new Redis(server.port('resp'));
    await redis.sadd('kept', member);
    expect(await redis.config('GET', 'appendfsync')).toEqual(['appendfsync', 'always']);
    expect(await redis.scard('kept')).toBe(member === 'one' ? 1 : 2);
    epochs.push((await factsOf(server))['epoch']);
    redis.disconnect();
    expect((await server.stop()).failures).toEqual([]);
  }
  expect(epochs[1]).toBe(epochs[0]);
});

test('data of another node id is refused', async () => {
  await using directory = await makeTempDirectory('sets');
  const start = (nodeId: number) =>
    startTestServer([createSetsSlice()], { settings: { dataDir: directory.path, nodeId } });
  await (await start(1)).stop();
  await expect(start(2)).rejects.toMatchObject({ code: 'conflict' });
});

test('a drain answers the commands that have arrived', async () => {
  await using server = await startTestServer([createSetsSlice()]);
  await using client = await openRawClient(server.port('resp'));
  client.send('*3\r\n$4\r\nSADD\r\n$1\r\na\r\n$1\r\nb\r\n'.repeat(100));
  await until(() => client.text() !== '', 'the first replies');
  expect((await server.stop()).inTime).toBe(true);
  await client.closed;
  expect(client.text()).toBe(`:1\r\n${':0\r\n'.repeat(99)}`);
});

test('a configured password is required, and one must be configured beyond loopback', async () => {
  const respPassword = new Secret('0123456789abcdef');
  await using server = await startTestServer([createSetsSlice()], {
    credentials: { respPassword },
  });
  await using client = await openRawClient(server.port('resp'));
  client.send('SCARD a\r\n');
  await until(() => client.text() === '-NOAUTH Authentication required.\r\n', 'the refusal');
  client.send('AUTH 0123456789abcdef\r\nSCARD a\r\n');
  await until(() => client.text().endsWith('+OK\r\n:0\r\n'), 'the answers');
  await expect(
    startTestServer([createSetsSlice()], { settings: { listenHost: '0.0.0.0' } }),
  ).rejects.toThrow('resp needs a password');
});
