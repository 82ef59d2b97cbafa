// Commands that take longer than a turn: in slices, in several operations, and at the speed of the client.
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setsLimits } from './limits.js';
import { openSets } from './local-sets.js';
import type { Sets } from './sets.js';
import { askSets, type RespAsker, type Words } from './testing/differential/resp-asker.js';
import { type RespReply, textsOf } from './testing/differential/resp-replies.js';

/** More than one operation holds. */
const MEMBERS = 70_000;
const members = Array.from({ length: MEMBERS }, (_, number) => `member:${number}`);

let sets: Sets;
let asker: RespAsker;

beforeAll(async () => {
  sets = await openSets(
    {
      files: undefined,
      clock: createSystemClock(),
      random: createSystemRandom(),
      logger: silentLogger,
      metrics: silentMetrics,
    },
    { nodeId: 1, clusterId: 'large' },
  );
  asker = askSets(sets);
});

afterAll(async () => {
  asker.close();
  await sets.close();
});

test('SADD and SREM take more members than one operation holds', async () => {
  expect(await integer(['SADD', 'large', ...members])).toBe(MEMBERS);
  expect(await integer(['SADD', 'large', ...members.slice(0, 100), 'more'])).toBe(1);
  expect(await integer(['SREM', 'large', 'more'])).toBe(1);
  expect(await integer(['SUNIONSTORE', 'other', 'large'])).toBe(MEMBERS);
  expect(await integer(['SREM', 'other', ...members.slice(0, -10), 'absent'])).toBe(MEMBERS - 10);
  expect(await integer(['SCARD', 'other'])).toBe(10);
});

test('SMEMBERS shows every member of a large set once', async () => {
  const shown = textsOf(await ask(['SMEMBERS', 'large']));
  expect(shown.length).toBe(MEMBERS);
  expect(new Set(shown)).toEqual(new Set(members));
});

test('SMISMEMBER and EXISTS take any number of arguments', async () => {
  const found = textsOf(await ask(['SMISMEMBER', 'large', ...members, 'absent']));
  expect(found.filter((text) => text === '1').length).toBe(MEMBERS);
  expect(found.at(-1)).toBe('0');
  const names = Array.from({ length: 10_000 }, (_, number) =>
    number % 2 === 0 ? 'large' : 'none',
  );
  expect(await integer(['EXISTS', ...names])).toBe(5_000);
});

test('SINTER, SUNION, SDIFF and their STORE forms agree on large sets', async () => {
  const last = members.slice(-10);
  expect(textsOf(await ask(['SINTER', 'large', 'other'])).toSorted()).toEqual(last.toSorted());
  expect(textsOf(await ask(['SDIFF', 'large', 'other'])).length).toBe(MEMBERS - 10);
  expect(textsOf(await ask(['SUNION', 'large', 'other'])).length).toBe(MEMBERS);
  expect(await integer(['SINTERCARD', '2', 'large', 'other', 'LIMIT', '4'])).toBe(4);
  expect(await integer(['SDIFFSTORE', 'copy', 'large', 'other'])).toBe(MEMBERS - 10);
  expect(await integer(['SCARD', 'copy'])).toBe(MEMBERS - 10);
  expect(await integer(['SINTERSTORE', 'copy', 'copy', 'other'])).toBe(0);
  expect(await integer(['EXISTS', 'copy'])).toBe(0);
});

test('SUNION of more sets than are read side by side shows a member of several once', async () => {
  const names = Array.from({ length: 150 }, (_, number) => `part:${number}`);
  await asker.ask(names.map((name) => ['SADD', name, 'shared', name]));
  const shown = textsOf(await ask(['SUNION', 'large', ...names]));
  expect(shown.length).toBe(MEMBERS + 151);
  expect(await integer(['DEL', 'other', 'other', 'none', ...names])).toBe(151);
});

test('random picks of a large set are its members, and different ones where that is asked for', async () => {
  for (const count of ['300', '30000', '100000']) {
    const picked = textsOf(await ask(['SRANDMEMBER', 'large', count]));
    expect(picked.length).toBe(Math.min(MEMBERS, Number(count)));
    expect(new Set(picked).size).toBe(picked.length);
  }
  expect(textsOf(await ask(['SRANDMEMBER', 'large', '-1000'])).length).toBe(1_000);
});

test('SSCAN returns every member of a large set', async () => {
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const reply = await ask(['SSCAN', 'large', cursor, 'COUNT', '20000']);
    cursor = reply?.items?.[0]?.text ?? '0';
    for (const member of textsOf(reply?.items?.[1])) seen.add(member);
  } while (cursor !== '0');
  expect(seen.size).toBe(MEMBERS);
});

test('a huge count neither fills memory nor keeps others waiting', async () => {
  const gone = new AbortController();
  let bytes = 0;
  const greedy = sets.connect({
    address: { host: '127.0.0.1', port: 2 },
    loopback: true,
    gone: gone.signal,
    cut: () => gone.abort(),
  });
  const stalled = new Promise<void>((resolve) => {
    greedy.writeTo({
      write(chunk) {
        bytes += chunk.length;
        resolve();
        return false;
      },
      // Never: this client does not read.
      drained: () => new Promise((_, reject) => gone.signal.addEventListener('abort', reject)),
      end: () => {},
    });
  });
  await ask(['SADD', 'few', 'one', 'two', 'three']);
  void greedy.push(Buffer.from('SRANDMEMBER few -1000000000000\r\n'));
  await stalled;
  expect(await integer(['SADD', 'meanwhile', 'one'])).toBe(1);
  expect((await ask(['SMEMBERS', 'large']))?.items?.length).toBe(MEMBERS);
  expect(bytes).toBeLessThan(4 * setsLimits.outputPauseBytes.value);
  gone.abort();
  greedy.close('draining');
});

test.each([
  ['keyBytesMax', 'ERR key is longer than 4096 bytes'],
  ['memberBytesMax', 'ERR member is longer than 65536 bytes'],
] as const)('%s is the greatest length that is accepted', async (limit, text) => {
  const longest = 'x'.repeat(setsLimits[limit].value);
  const words = (name: string) =>
    limit === 'keyBytesMax' ? ['SADD', name, 'm'] : ['SADD', 'lengths', 'first', name];
  expect(await integer(words(longest))).toBeGreaterThan(0);
  expect(await ask(words(`${longest}x`))).toEqual({ type: '-', text });
  // No part of a refused command is applied.
  expect(await integer(['SREM', 'lengths', 'first'])).toBe(limit === 'keyBytesMax' ? 0 : 1);
  expect(await ask(words(`${longest}x`))).toEqual({ type: '-', text });
  expect(await integer(['SISMEMBER', 'lengths', 'first'])).toBe(0);
});

test('SPOP removes what it returns', async () => {
  for (const count of [20, 20_000, MEMBERS]) {
    const left = await integer(['SCARD', 'large']);
    const popped = textsOf(await ask(['SPOP', 'large', String(count)]));
    expect(popped.length).toBe(Math.min(count, left));
    expect(await integer(['SCARD', 'large'])).toBe(left - popped.length);
    expect(textsOf(await ask(['SMISMEMBER', 'large', ...popped])).includes('1')).toBe(false);
  }
});

test('FLUSHALL removes sets that one operation cannot hold', async () => {
  expect(await integer(['SADD', 'large', ...members])).toBe(MEMBERS);
  expect((await ask(['FLUSHALL']))?.text).toBe('OK');
  expect(await integer(['DBSIZE'])).toBe(0);
  expect(textsOf(await ask(['KEYS', '*']))).toEqual([]);
});

async function ask(words: Words): Promise<RespReply | undefined> {
  const [reply] = await asker.ask([words]);
  return reply;
}

async function integer(words: Words): Promise<number> {
  const reply = await ask(words);
  expect(reply?.type, reply?.text).toBe(':');
  return Number(reply?.text);
}
