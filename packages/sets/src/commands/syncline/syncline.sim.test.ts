// Versions as tokens over RESP: what was seen at one connection can be waited for at another.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { openSets } from '../../local-sets.js';
import type { Sets } from '../../sets.js';
import { Talk } from '../../testing/talk.js';
import { parseVersion } from './versions.js';

function withSets(
  body: (sets: Sets, world: SimulatedBody, epoch: number) => Promise<void>,
): Promise<void> {
  return runInSimulation(1, async (world) => {
    const sets = await openSets(world, { nodeId: 7, clusterId: 'test' });
    await body(sets, world, sets.status().epoch);
    await sets.close();
  });
}

const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;

test('SYNCLINE.VV returns all that is applied, MINE what this connection wrote', () =>
  withSets(async (sets, _, epoch) => {
    const talk = new Talk(sets);
    const other = new Talk(sets);
    expect(await talk.ask('SYNCLINE.VV')).toBe(bulk('-'));
    await talk.ask('SADD', 'k', 'a', 'b');
    await other.ask('SADD', 'k', 'c');
    expect(await talk.ask('SYNCLINE.VV')).toBe(bulk(`7.${epoch}:3`));
    expect(await talk.ask('SYNCLINE.VV', 'mine')).toBe(bulk(`7.${epoch}:2`));
    await other.ask('SREM', 'k', 'nothing');
    expect(await other.ask('SYNCLINE.VV', 'MINE')).toBe(bulk(`7.${epoch}:3`));
    await talk.ask('MULTI');
    await talk.ask('SADD', 'k', 'd');
    await talk.ask('EXEC');
    expect(await talk.ask('SYNCLINE.VV', 'MINE')).toBe(bulk(`7.${epoch}:4`));
    expect(await new Talk(sets).ask('SYNCLINE.VV', 'MINE')).toBe(bulk('-'));
    expect(await talk.ask('SYNCLINE.VV', 'yours')).toBe('-ERR syntax error\r\n');
  }));

test('S5 SYNCLINE.VV MINE shows no counter before its operation is stored', () =>
  withSets(async (sets, world) => {
    const talk = new Talk(sets);
    world.node.disk.adjust({ isFull: true });
    const shown = talk.all([
      ['CLIENT', 'REPLY', 'SKIP'],
      ['SADD', 'k', 'a'],
      ['SYNCLINE.VV', 'MINE'],
    ]);
    await world.clock.sleep(1_000);
    world.node.disk.adjust({ isFull: false });
    expect(await shown).toMatch(/^-MISCONF /);
  }));

test('SYNCLINE.DIGEST is the digest of the library', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('SADD', 'k', 'a', 'b');
    const { version, liveDots, xor } = sets.digest();
    const hex = xor.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
    expect(await talk.ask('SYNCLINE.DIGEST')).toBe(
      `*3\r\n${bulk(version.toString())}:${liveDots}\r\n${bulk(hex)}`,
    );
  }));

test('SYNCLINE.READ AFTER answers at once what is applied, and waits for what is not', () =>
  withSets(async (sets, { clock }, epoch) => {
    const talk = new Talk(sets);
    const writer = new Talk(sets);
    await writer.ask('SADD', 'k', 'a');
    const now = `7.${epoch}:1`;
    const next = `7.${epoch}:2`;
    expect(await talk.ask('SYNCLINE.READ', 'AFTER', now, 'SCARD', 'k')).toBe(':1\r\n');
    expect(await talk.ask('SYNCLINE.READ', 'AFTER', next, 'SCARD', 'k')).toBe(
      `-NOTREADY ${now}\r\n`,
    );
    const startMs = clock.monotonicMs();
    expect(await talk.ask('SYNCLINE.READ', 'AFTER', next, 'TIMEOUT', '250', 'SCARD', 'k')).toBe(
      `-NOTREADY ${now}\r\n`,
    );
    expect(clock.monotonicMs() - startMs).toBe(250);
    const waiting = talk.ask('SYNCLINE.READ', 'AFTER', next, 'TIMEOUT', '60000', 'SCARD', 'k');
    await clock.sleep(10);
    await writer.ask('SADD', 'k', 'b');
    expect(await waiting).toBe(':2\r\n');
    expect(clock.monotonicMs() - startMs).toBeLessThan(1_000);
  }));

test('a client that leaves while it waits is forgotten', () =>
  withSets(async (sets, { clock, node }, epoch) => {
    const other = new Talk(sets);
    const talk = new Talk(sets);
    await other.ask('PING');
    const timersBefore = node.pendingTimersCount;
    const after = ['AFTER', `7.${epoch}:9`, 'TIMEOUT', '60000'];
    const waiting = talk.ask('SYNCLINE.READ', ...after, 'DBSIZE');
    await clock.sleep(10);
    expect(node.pendingTimersCount).toBe(timersBefore + 1);
    talk.leave();
    await expect(waiting).rejects.toThrow('ended without a reply');
    expect(node.pendingTimersCount).toBe(timersBefore);
    expect(await other.ask('SADD', 'k', 'a')).toBe(':1\r\n');
  }));

test('a node without peers is a majority of one', () =>
  withSets(async (sets, _, epoch) => {
    const talk = new Talk(sets);
    await talk.ask('SADD', 'k', 'a');
    const read = (...words: readonly string[]) => talk.ask('SYNCLINE.READ', ...words, 'SCARD', 'k');
    expect(await read('QUORUM', '1')).toBe(':1\r\n');
    expect(await read('QUORUM', 'majority', 'WITHVV')).toBe(`*2\r\n${bulk(`7.${epoch}:1`)}:1\r\n`);
    expect(await read('QUORUM', '2')).toBe('-NOQUORUM 1 of 2 nodes responded\r\n');
    expect(await read('QUORUM', '0')).toMatch(/^-ERR QUORUM must be /);
    expect(await read('TIMEOUT', '60001')).toMatch(/^-ERR TIMEOUT must be /);
    expect(await read('AFTER', 'x')).toMatch(/^-ERR invalid version, expected /);
    for (const entry of ['1.99999:9', '0.1:9', '1.1:0'])
      expect(await read('AFTER', `1.1:1,${entry}`)).toContain(`-ERR '${entry}' is out of range:`);
    expect(await read('AFTER', '1.1:1,'.repeat(4096))).toMatch(
      /^-ERR invalid version, more than 4096 /,
    );
  }));

test('SYNCLINE.READ takes read-only commands, large ones too', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('SADD', 'k', 'a');
    expect(await talk.ask('SYNCLINE.READ', 'SADD', 'k', 'b')).toMatch(
      /^-ERR SYNCLINE.READ requires /,
    );
    expect(await talk.ask('SYNCLINE.READ', 'FOO')).toMatch(/^-ERR unknown command 'FOO'/);
    expect(await talk.ask('SYNCLINE.READ', 'SCARD')).toBe(
      "-ERR wrong number of arguments for 'scard' command\r\n",
    );
    expect(await talk.ask('SYNCLINE.READ', 'WITHVV')).toBe(
      "-ERR wrong number of arguments for 'syncline.read' command\r\n",
    );
    expect(await talk.ask('SYNCLINE.READ', 'KEYS', '*')).toBe('*1\r\n$1\r\nk\r\n');
    await talk.ask('MULTI');
    expect(await talk.ask('SYNCLINE.READ', 'SCARD', 'k')).toBe(
      '-ERR Command not allowed inside a transaction\r\n',
    );
  }));

test.each([
  '',
  '1',
  '1.2',
  '0.1:1',
  '1.65536:1',
  '1.1:0',
  '1.1:9007199254740992',
  '1.1:1,',
  '1.1:1 ',
])('%j is not a version', (text) => {
  expect(parseVersion(text)).toMatch(/^ERR /);
});

test('a version reads back as it was written', () => {
  for (const text of ['-', '1.0:1', '1.2:3,65535.65535:9007199254740991'])
    expect(String(parseVersion(text))).toBe(text);
});
