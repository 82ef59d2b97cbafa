// What counts towards the limits of a transaction, on sets that only pretend to be large, and what its commands see.
import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import type { ByteList } from '../../byte-list.js';
import { PlainKeyspace } from '../../testing/plain-keyspace.js';
import { errorTexts } from '../errors.js';
import { CommandRig } from '../testing/command-rig.js';

const MEMBER_BYTES = 100;
const { transactionReadsTooMuch, transactionTooLarge } = errorTexts;

/** A name such as `60000` is that of a set with as many members, of 100 bytes each. */
class PretendedKeyspace extends PlainKeyspace {
  constructor() {
    super({ random: createSeededRandom(1) });
  }

  override cardinality(args: ByteList, key: number): number {
    return Number(args.text(key)) || super.cardinality(args, key);
  }

  override memberBytes(args: ByteList, key: number): number {
    return this.cardinality(args, key) * MEMBER_BYTES;
  }

  /** Drawing would take long, and the picks are not checked. */
  override draw(): void {}
}

/** Returns the error, or `done`. */
async function execute(lines: readonly string[], sets: readonly string[] = []): Promise<string> {
  const rig = new CommandRig({ keyspace: new PretendedKeyspace() });
  for (const name of sets) await rig.send('SADD', name, 'member');
  await rig.send('MULTI');
  for (const line of lines) expect(await rig.text(...line.split(' '))).toBe('QUEUED');
  const reply = await rig.send('EXEC');
  expect(rig.client.queued).toBeUndefined();
  expect(rig.facts.queueQuota.used).toBe(0);
  return reply?.kind === 'error' ? reply.text : 'done';
}

describe('S22 what a transaction reads', () => {
  test.each([
    [['SMEMBERS 65536'], 'done'],
    [['SMEMBERS 65537'], transactionReadsTooMuch],
    [['SMEMBERS 60000', 'SUNION 5000 500'], 'done'],
    [['SMEMBERS 60000', 'SUNION 5000 600'], transactionReadsTooMuch],
    [['SINTERCARD 2 60000 6000'], 'done'],
    [['SINTERCARD 2 60000 33000'], transactionReadsTooMuch],
    [['SDIFF 6000 60000'], 'done'],
    [['SUNIONSTORE to 60000 6000'], transactionReadsTooMuch],
  ])('all members of sets: %j', async (lines, answer) => {
    expect(await execute(lines)).toBe(answer);
  });

  test.each([
    [['SSCAN 90000 0 COUNT 10000', 'SSCAN 90000 0 COUNT 10000'], 'done'],
    [Array.from({ length: 7 }, () => 'SSCAN 90000 0 COUNT 10000'), transactionReadsTooMuch],
    [Array.from({ length: 7 }, () => 'SSCAN 9 0 COUNT 10000'), 'done'],
    [['SRANDMEMBER 60000 300', 'SRANDMEMBER 60000 300'], 'done'],
    [['SRANDMEMBER 60000 40000', 'SRANDMEMBER 60000 40000'], transactionReadsTooMuch],
    [['SRANDMEMBER 9 40000', 'SRANDMEMBER 9 40000'], 'done'],
  ])('as many members as are looked at, and no more than there are: %j', async (lines, answer) => {
    expect(await execute(lines)).toBe(answer);
  });

  test('picks that may repeat count each time', async () => {
    const draws = ['SRANDMEMBER k -300', 'SRANDMEMBER k -65236'];
    expect(await execute(draws, ['k'])).toBe('done');
    const more = [...draws, 'SRANDMEMBER k -1'];
    expect(await execute(more, ['k'])).toBe(transactionReadsTooMuch);
    expect(await execute(more, []), 'no set, no picks').toBe('done');
  });

  test('names and members that are looked up', async () => {
    const names = Array.from({ length: 5_000 }, () => 'k').join(' ');
    const lines = [`EXISTS ${names}`, `SMISMEMBER k ${names}`];
    expect(await execute(lines)).toBe('done');
    const many = Array.from({ length: 7 }, () => lines).flat();
    expect(await execute(many)).toBe(transactionReadsTooMuch);
  });

  test('names of all sets, without their members', async () => {
    const lines = ['RANDOMKEY', 'KEYS *', 'SCAN 0', 'DBSIZE', 'SADD q 1'];
    expect(await execute(lines, ['60000', '50000'])).toBe('done');
  });
});

describe('S22 what a transaction removes counts as changes', () => {
  test.each([
    [['SMEMBERS 65535', 'DEL 65536'], 'done'],
    [['DEL 65537'], transactionTooLarge],
    [['UNLINK 60000 6000'], transactionTooLarge],
    [['SPOP 90000 20000', 'SPOP 90000 20000'], 'done'],
    [['SPOP 90000 40000', 'SPOP 90000 40000'], transactionTooLarge],
    [['SPOP 9 40000', 'SPOP 9 40000'], 'done'],
  ])('%j', async (lines, answer) => {
    expect(await execute(lines)).toBe(answer);
  });

  test('FLUSHALL counts the members of all sets', async () => {
    expect(await execute(['SADD 40000 more', 'FLUSHALL'], ['40000'])).toBe('done');
    expect(await execute(['FLUSHALL'], ['40000', '30000'])).toBe(transactionTooLarge);
  });
});

test('commands on the whole keyspace see what earlier commands have done', async () => {
  const rig = new CommandRig();
  await rig.send('SADD', 'old', 'a');
  await rig.send('MULTI');
  for (const line of ['SADD new a', 'DBSIZE', 'FLUSHALL', 'SADD newer a', 'KEYS *', 'RANDOMKEY'])
    await rig.send(...line.split(' '));
  const before = rig.keyspace.operations.length;
  const newer = { kind: 'bulk', text: 'newer' };
  expect(await rig.send('EXEC')).toEqual({
    kind: 'array',
    items: [
      { kind: 'integer', value: 1 },
      { kind: 'integer', value: 2 },
      { kind: 'simple', text: 'OK' },
      { kind: 'integer', value: 1 },
      { kind: 'array', items: [newer] },
      newer,
    ],
  });
  expect(rig.keyspace.operations.length).toBe(before + 1);
});

test('S22 what is larger than one operation is undone, with the replies so far', async () => {
  const rig = new CommandRig();
  await rig.send('SADD', 'k', 'before');
  await rig.send('MULTI');
  const members = Array.from({ length: 40_000 }, (_, number) => `m${number}`);
  await rig.send('SREM', 'k', 'before');
  await rig.send('SADD', 'k', ...members);
  await rig.send('SADD', 'l', ...members);
  expect(await rig.text('EXEC')).toBe(transactionTooLarge);
  expect(await rig.send('SCARD', 'k')).toEqual({ kind: 'integer', value: 1 });
  expect(await rig.send('DBSIZE')).toEqual({ kind: 'integer', value: 1 });
});

test('a watched key that has changed makes EXEC do nothing', async () => {
  const rig = new CommandRig();
  const other = new CommandRig({ keyspace: rig.keyspace });
  await rig.send('WATCH', 'k');
  await other.send('SADD', 'k', 'a');
  await rig.send('MULTI');
  await rig.send('SADD', 'k', 'b');
  expect(await rig.send('EXEC')).toEqual({ kind: 'null-array' });
  expect(rig.facts.watchQuota.used).toBe(0);
  await rig.send('WATCH', 'k');
  await rig.send('UNWATCH');
  await other.send('SADD', 'k', 'c');
  await rig.send('MULTI');
  expect(await rig.send('EXEC')).toEqual({ kind: 'array', items: [] });
});
