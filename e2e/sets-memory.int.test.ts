// What the memory of the real server is bound to: members that come and go leave nothing behind, and neither do
// names that were only asked for.
//
// SETS_MEMORY_MEMBERS (20,000) is the size of a round. SETS_FIGURES=1 prints what was measured.
import { expect, test } from 'vitest';
import { tell } from './sets-figures.js';
import { residentMebibytes } from './sets-good-client.js';
import { encodeCommand, SetsRawClient } from './sets-raw-client.js';
import { type SetsNode, startSetsNode } from './sets-targets.js';

const MEMBERS = Number(process.env['SETS_MEMORY_MEMBERS'] ?? 20_000);
const ROUNDS = 10;
const PER_COMMAND = 500;
/** What a server that has worked holds more than one that has not, whatever the members are. */
const WARM_MEBIBYTES = 200;
const DEADLINE_MS = 60_000 + MEMBERS * 3;

const members = (from: number) =>
  Array.from({ length: PER_COMMAND }, (_, index) => `member number ${from + index}`);

/** Sends a command for each, without waiting for answers between. */
async function sendEach(client: SetsRawClient, commands: Iterable<readonly string[]>) {
  let count = 0;
  client.forget();
  const startBytes = client.bytes;
  for (const command of commands) {
    await client.sendAll(encodeCommand(command));
    count += 1;
  }
  await client.sendAll(encodeCommand(['PING']));
  await client.until(() => client.text().endsWith('+PONG\r\n'), DEADLINE_MS);
  const lines = client.text().split('\r\n').length - 2;
  expect(lines, `${client.bytes - startBytes} bytes`).toBe(count);
}

function* changes(command: 'SADD' | 'SREM'): Iterable<readonly string[]> {
  for (let from = 0; from < MEMBERS; from += PER_COMMAND) yield [command, 'set', ...members(from)];
}

async function withServer(body: (client: SetsRawClient, target: SetsNode) => Promise<void>) {
  await using target = await startSetsNode();
  using client = await SetsRawClient.connect(target.port);
  await body(client, target);
}

test(
  'S10 members that are added and removed ten times cost what they cost once',
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
  'S10 sets of one member, and names that are only asked for, take what is counted for them',
  () =>
    withServer(async (client, { node }) => {
      const names = Array.from({ length: MEMBERS / 5 }, (_, index) => `set number ${index}`);
      const before = residentMebibytes(node);
      await sendEach(
        client,
        names.map((name) => ['SADD', name, 'one']),
      );
      const filled = residentMebibytes(node);
      await sendEach(
        client,
        names.map((name) => ['SCARD', `nobody knows ${name}`]),
      );
      const asked = residentMebibytes(node);
      tell(
        `${names.length} sets: ${before} MiB before, ${filled} with them, ${asked} when as many were asked for`,
      );
      const counted = Number(/used_memory:(\d+)/.exec(await info(client))?.[1]);
      expect(counted / (2 * names.length)).toBeGreaterThan(500);
      expect(asked - before).toBeLessThan((2 * counted) / 2 ** 20 + WARM_MEBIBYTES);
    }),
  DEADLINE_MS,
);

async function info(client: SetsRawClient): Promise<string> {
  client.forget();
  client.send(encodeCommand(['INFO', 'memory']));
  await client.until(() => client.text().includes('used_memory:'));
  return client.text();
}
