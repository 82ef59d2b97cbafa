// Hostile, broken and slow clients of the sets, many at a time, against the real server. Each costs bounded memory,
// and a well-behaved client is still served.
//
// SETS_HOSTILE_MEMBERS (40,000) is the size of the large sets. SETS_FIGURES=1 prints memory and latencies. Bounds are
// generous, since the machine may be busy: a server that waits for a hostile client misses them by far.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tell } from './sets-figures.js';
import { measureService, residentMebibytes } from './sets-good-client.js';
import { encodeCommand, SetsRawClient } from './sets-raw-client.js';
import { type SetsNode, startSetsNode } from './sets-targets.js';

const MEMBERS = Number(process.env['SETS_HOSTILE_MEMBERS'] ?? 40_000);
/** Far above what a quiet machine needs: it only detects clients that are kept waiting by the attack. */
const MAX_MS = 20_000;
const GROWTH_MEBIBYTES_MAX = 600;
const MEMBERS_PER_COMMAND = 1_000;

let target: SetsNode;
let before = 0;

const connect = () => SetsRawClient.connect(target.port);
const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Two large sets: every second member of one is in the other. */
beforeAll(async () => {
  target = await startSetsNode();
  using client = await connect();
  for (const [name, step] of [
    ['large', 1],
    ['even', 2],
  ] as const) {
    for (let from = 0; from < MEMBERS; from += MEMBERS_PER_COMMAND) {
      const members = many(MEMBERS_PER_COMMAND, (index) => `member ${(from + index) * step}`);
      await client.sendAll(encodeCommand(['SADD', name, ...members]));
    }
  }
  await client.until(() => client.text().split('\r\n').length === (2 * MEMBERS) / 1_000 + 1);
  before = residentMebibytes(target.node);
}, 120_000);
afterAll(() => target[Symbol.asyncDispose]());

/** Measures while the others are active, and checks what they cost. */
async function expectService(
  beside: string,
  command: 'sadd' | 'sismember' = 'sadd',
): Promise<void> {
  const { p99Ms, maxMs } = await measureService(target.port, command);
  const resident = residentMebibytes(target.node);
  tell(`${beside}: p99 ${p99Ms} ms, max ${maxMs} ms, ${resident} MiB (${before} MiB before)`);
  expect(maxMs, beside).toBeLessThan(MAX_MS);
  expect(resident - before, beside).toBeLessThan(GROWTH_MEBIBYTES_MAX);
}

/** Opens this many connections, which are closed at the end of their test, however that ends. */
async function crowd(
  count: number,
): Promise<Disposable & { readonly clients: readonly SetsRawClient[] }> {
  const clients = await Promise.all(many(count, connect));
  return {
    clients,
    [Symbol.dispose]() {
      for (const client of clients) client[Symbol.dispose]();
    },
  };
}

test('S10 clients that request large replies, again and again, and read none', async () => {
  using hostile = await crowd(10);
  const { clients } = hostile;
  for (const client of clients) {
    client.pause();
    client.send(encodeCommand(['SMEMBERS', 'large']).repeat(1_000));
    client.send(encodeCommand(['SRANDMEMBER', 'even', '-1000000000000']));
  }
  await expectService('10 that pipeline SMEMBERS and do not read');
});

test('S10 a slow reader of a large set gets all of it, and costs little', async () => {
  using slow = await connect();
  slow.send(encodeCommand(['SMEMBERS', 'large']));
  let isOver = false;
  const reading = (async () => {
    for (let isReading = true; !isOver; isReading = !isReading) {
      if (isReading) slow.resume();
      else slow.pause();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    slow.resume();
  })();
  await expectService('a slow reader');
  isOver = true;
  await reading;
  const expected = many(MEMBERS, (index) => `member ${index}`.length).reduce(
    (sum, length) => sum + `$${length}\r\n`.length + length + 2,
    `*${MEMBERS}\r\n`.length,
  );
  await slow.until(() => slow.bytes >= expected);
  expect(slow.bytes).toBe(expected);
});

test('S10 a thousand connections, each with half a command', async () => {
  using hostile = await crowd(1_000);
  const { clients } = hostile;
  for (const client of clients) client.send(`*3\r\n$4\r\nSADD\r\n$4\r\nhalf\r\n$60000\r\n`);
  for (const client of clients.slice(0, 100)) client.send('x'.repeat(50_000));
  await expectService('1,000 connections with half a command');
});

test('floods of bytes that are not commands', async () => {
  using hostile = await crowd(50);
  const { clients } = hostile;
  const isAtIt = { value: true };
  const floods = clients.map(async (client, index) => {
    const bytes = Buffer.alloc(65_536, index * 5 + 1);
    while (isAtIt.value && (await client.sendAll(bytes)));
  });
  await expectService('50 floods of garbage');
  isAtIt.value = false;
  for (const client of clients) client[Symbol.dispose]();
  await Promise.all(floods);
});

test('S10 transactions that are never executed stay within the limit for all clients', async () => {
  using hostile = await crowd(8);
  const { clients } = hostile;
  const words = encodeCommand(['ECHO', 'x'.repeat(1_000_000)]);
  for (const client of clients) client.send(encodeCommand(['MULTI']));
  for (let count = 0; count < 50; count += 1)
    await Promise.all(clients.map((client) => client.sendAll(words)));
  for (const client of clients)
    await client.until(() => client.text().split('\r\n').length === 50 + 2);
  const answers = clients.map((client) => client.text()).join('');
  expect(answers).toContain('-ERR transactions of all clients are larger than 256 MiB');
  await expectService('8 transactions of 50 MB');
});

test('S19 the largest allowed transactions', async () => {
  using client = await connect();
  const adds = many(9_000, (index) =>
    encodeCommand(['SADD', 'tx', ...many(7, (i) => `${index}.${i}`)]),
  );
  const reads = many(900, () => encodeCommand(['SRANDMEMBER', 'even', '-60']));
  client.send([encodeCommand(['MULTI']), ...adds, ...reads, encodeCommand(['EXEC'])].join(''));
  await expectService('an EXEC of 63,000 changes and 54,000 picks');
  await client.until(() => client.text().includes(`*${adds.length + reads.length}\r\n`));
});

test('S19 patterns that take many steps', async () => {
  using names = await connect();
  for (const index of many(50, (i) => i)) {
    await names.ask('SADD', `${index} ${'a'.repeat(4_000)}`, 'a'.repeat(65_536));
  }
  using hostile = await crowd(4);
  const { clients } = hostile;
  const evil = `*${'a*'.repeat(100)}${'a'.repeat(300)}b`;
  for (const client of clients) {
    client.send(encodeCommand(['KEYS', evil]).repeat(3));
    client.send(encodeCommand(['KEYS', `*${'a'.repeat(1_000_000)}b`]));
    client.send(encodeCommand(['SSCAN', `0 ${'a'.repeat(4_000)}`, '0', 'MATCH', evil]));
  }
  await expectService('KEYS and SSCAN with evil patterns');
});

test('S19 STORE of large sets while others write', async () => {
  using hostile = await crowd(3);
  const { clients } = hostile;
  for (const [index, client] of clients.entries())
    client.send(encodeCommand(['SINTERSTORE', `both ${index}`, 'large', 'even']));
  // Writes wait until it is done; reads do not.
  await expectService('3 SINTERSTORE of large sets', 'sismember');
  for (const client of clients) await client.until(() => client.text() === `:${MEMBERS / 2}\r\n`);
});
