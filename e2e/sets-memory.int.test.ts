// Memory of the real server: members that are added and removed leave nothing behind, and neither do names that were
// only looked up. Above `sets.memory_max_bytes` adds are refused.
//
// SETS_MEMORY_MEMBERS (20,000) is the size of a round, SETS_MEMORY_NAMES (200,000) how many names are looked up.
// SETS_FIGURES=1 prints what was measured.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tell } from './sets-figures.js';
import { residentMebibytes } from './sets-good-client.js';
import { encodeCommand, SetsRawClient } from './sets-raw-client.js';
import { type SetsNode, startSetsNode } from './sets-targets.js';

const MEMBERS = Number(process.env['SETS_MEMORY_MEMBERS'] ?? 20_000);
const NAMES = Number(process.env['SETS_MEMORY_NAMES'] ?? 200_000);
const ROUNDS = 6;
const PER_COMMAND = 500;
const CHUNK_BYTES = 65_536;
/** What a server that has worked uses more than an idle one, whatever the members are. */
const WARM_MEBIBYTES = 200;
const DEADLINE_MS = 60_000 + MEMBERS * 3;

const members = (from: number) =>
  Array.from({ length: PER_COMMAND }, (_, index) => `member number ${from + index}`);

/** Sends a command for each, without waiting for replies in between. */
async function sendEach(client: SetsRawClient, commands: Iterable<readonly string[]>) {
  let count = 0;
  let unsent = '';
  client.forget();
  const startBytes = client.bytes;
  for (const command of commands) {
    unsent += encodeCommand(command);
    count += 1;
    if (unsent.length < CHUNK_BYTES) continue;
    await client.sendAll(unsent);
    unsent = '';
  }
  await client.sendAll(unsent + encodeCommand(['PING']));
  await client.until(() => client.text().endsWith('+PONG\r\n'), DEADLINE_MS);
  const lines = client.text().split('\r\n').length - 2;
  expect(lines, `${client.bytes - startBytes} bytes`).toBe(count);
}

function* changes(command: 'SADD' | 'SREM'): Iterable<readonly string[]> {
  for (let from = 0; from < MEMBERS; from += PER_COMMAND) yield [command, 'set', ...members(from)];
}

let shared: SetsNode;
beforeAll(async () => {
  shared = await startSetsNode();
});
afterAll(() => shared[Symbol.asyncDispose]());

async function withServer(body: (client: SetsRawClient, target: SetsNode) => Promise<void>) {
  using client = await SetsRawClient.connect(shared.port);
  await body(client, shared);
  expect(await client.ask('FLUSHALL')).toBe('+OK');
}

test(
  'S10 members that are added and removed several times use as much memory as once',
  () =>
    withServer(async (client, { node }) => {
      const rounds: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        await sendEach(client, changes('SADD'));
        expect(await client.ask('SCARD', 'set')).toBe(`:${MEMBERS}`);
        await sendEach(client, changes('SREM'));
        expect(await client.ask('DBSIZE')).toBe(':0');
        rounds.push(residentMebibytes(node));
      }
      tell(`${MEMBERS} members added and removed, MiB after each round: ${rounds.join(' ')}`);
      const [, , third = 0] = rounds;
      expect(rounds.at(-1)).toBeLessThan(third + WARM_MEBIBYTES);
    }),
  DEADLINE_MS,
);

test(
  'S10 names that were only looked up leave nothing behind',
  () =>
    withServer(async (client, { node }) => {
      function* questions(from: number, to: number): Iterable<readonly string[]> {
        for (let index = from; index < to; index += 1) {
          const name = `nobody knows number ${index}`;
          if (index % 4 === 0) yield ['EXISTS', name];
          else if (index % 4 === 1) yield ['SISMEMBER', name, 'member'];
          else if (index % 4 === 2) yield ['SCARD', name];
          else yield ['WATCH', name];
          if (index % 4 === 3) yield ['UNWATCH'];
        }
      }
      await client.ask('SADD', 'known', 'member');
      await sendEach(client, questions(0, NAMES / 10));
      const [usedBefore, before] = [await usedMemory(client), residentMebibytes(node)];
      await sendEach(client, questions(NAMES / 10, NAMES));
      const [used, resident] = [await usedMemory(client), residentMebibytes(node)];
      tell(`${NAMES} absent names: ${before} MiB before, ${resident} MiB after`);
      expect(used).toBe(usedBefore);
      expect(resident - before).toBeLessThan(WARM_MEBIBYTES);
    }),
  DEADLINE_MS + NAMES,
);

test('the memory of sets with one member is counted correctly', () =>
  withServer(async (client, { node }) => {
    const names = Array.from({ length: MEMBERS }, (_, index) => `set number ${index}`);
    const before = residentMebibytes(node);
    const usedBefore = await usedMemory(client);
    await sendEach(
      client,
      names.map((name) => ['SADD', name, 'one']),
    );
    const resident = residentMebibytes(node);
    const usedMebibytes = ((await usedMemory(client)) - usedBefore) / 2 ** 20;
    tell(
      `${MEMBERS} sets: ${before} MiB before, ${resident} MiB with them, counted ${usedMebibytes.toFixed(1)} MiB`,
    );
    expect(resident - before).toBeLessThan(2 * usedMebibytes + WARM_MEBIBYTES);
  }));

test('above maxmemory adds are refused, and removes work', async () => {
  const limit = 4 * 2 ** 20;
  await using target = await startSetsNode({ SYNCLINE_SETS_MEMORY_MAX_BYTES: String(limit) });
  using client = await SetsRawClient.connect(target.port);
  expect(await lastLine(client, ['CONFIG', 'GET', 'maxmemory'])).toBe(String(limit));
  let added = 0;
  const add = () => client.ask('SADD', 'set', `member number ${added}`.padEnd(1_000, '.'));
  while ((await add()) === ':1') added += 1;
  expect(added).toBeGreaterThan(3_000);
  const oom = "-OOM command not allowed when used memory > 'maxmemory'.";
  expect(await add()).toBe(oom);
  expect(await client.ask('SUNIONSTORE', 'copy', 'set')).toBe(oom);
  expect(await client.ask('SCARD', 'set')).toBe(`:${added}`);
  expect(await client.ask('SREM', 'set', 'member number 0'.padEnd(1_000, '.'))).toBe(':1');
  expect(await lastLine(client, ['SPOP', 'set', '100'])).toContain('member number');
  expect(await add()).toBe(':1');
  expect(await client.ask('CONFIG', 'SET', 'maxmemory', '1mb')).toBe('+OK');
  expect(await client.ask('SADD', 'set', 'one more')).toBe(oom);
  expect(await client.ask('DEL', 'set')).toBe(':1');
  expect(await client.ask('SADD', 'set', 'one more')).toBe(':1');
});

/** The last line of a reply with several lines. */
async function lastLine(client: SetsRawClient, words: readonly string[]): Promise<string> {
  client.forget();
  client.send(encodeCommand(words) + encodeCommand(['PING']));
  await client.until(() => client.text().endsWith('+PONG\r\n'));
  return client.text().split('\r\n').at(-3) ?? '';
}

async function usedMemory(client: SetsRawClient): Promise<number> {
  client.forget();
  client.send(encodeCommand(['INFO', 'memory']));
  await client.until(() => client.text().includes('mem_fragmentation_ratio'));
  return Number(/used_memory:(\d+)/.exec(client.text())?.[1]);
}
