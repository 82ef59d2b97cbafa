// What counts within a transaction, on sets that only pretend to be large.
import { silentMetrics } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { ByteList } from '../../byte-list.js';
import { PlainKeyspace } from '../../testing/plain-keyspace.js';
import { RecordedReply } from '../../testing/recorded-reply.js';
import type { CommandContext, QueuedCommand } from '../command.js';
import { createCommandTable } from '../command-table.js';
import { errorTexts } from '../errors.js';
import { runTransaction } from './run-transaction.js';

const table = createCommandTable({ metrics: silentMetrics });
const MEMBER_BYTES = 100;

/** A name such as `60000` is that of a set with so many members, of 100 bytes each. */
class PretendedKeyspace extends PlainKeyspace {
  readonly brought: string[] = [];

  constructor() {
    super({ random: createSeededRandom(1) });
  }

  override cardinality(args: ByteList, key: number): number {
    return Number(args.text(key)) || super.cardinality(args, key);
  }

  override memberBytes(args: ByteList, key: number): number {
    return this.cardinality(args, key) * MEMBER_BYTES;
  }

  /** Would take long, and nobody looks at the picks. */
  override draw(): void {}

  override isWhole(): boolean {
    return this.brought.length > 0;
  }

  override async bringIn(keys?: readonly Uint8Array[]): Promise<void> {
    this.brought.push(...(keys ?? []).map((key) => Buffer.from(key).toString('latin1')), 'all');
  }

  override async openView() {
    const view = await super.openView();
    return { ...view, cardinality: (set: Uint8Array) => this.cardinality(ByteList.of(set), 0) };
  }
}

/** Gives the error, or `done`, and which sets were brought in. */
async function execute(lines: readonly string[], sets: readonly string[] = []) {
  const keyspace = new PretendedKeyspace();
  for (const name of sets) keyspace.add(listOf([name, 'member']), 0, 1);
  const reply = new RecordedReply();
  const give = () => {};
  const room = { give };
  const client = { gone: new AbortController().signal, watchedKeys: 0, isTouched: false };
  const random = createSeededRandom(2);
  const facts = { random, countCommand: give, queueRoom: room, watchRoom: room };
  const context = { keyspace, reply, client, facts, args: listOf(['EXEC']) };
  await runTransaction(
    lines.map((line) => queuedOf(line.split(' '))),
    context as unknown as CommandContext,
  );
  const [value] = reply.values;
  expect(keyspace.gateHolds + keyspace.openViews).toBe(0);
  return {
    answer: value?.kind === 'error' ? value.text : 'done',
    brought: keyspace.brought.filter((name) => name !== 'all'),
  };
}

function queuedOf(words: readonly string[]): QueuedCommand {
  const args = listOf(words);
  const known = table.find(args, 0);
  if (known === undefined) throw new Error(`no command ${words[0]}`);
  return { known, args };
}

function listOf(words: readonly string[]): ByteList {
  return ByteList.of(...words.map((word) => Buffer.from(word)));
}

const { transactionReadsTooMuch, transactionTooLarge } = errorTexts;

describe('S22 what a transaction reads', () => {
  test.each([
    [['SMEMBERS 65536'], 'done'],
    [['SMEMBERS 65537'], transactionReadsTooMuch],
    [['SMEMBERS 60000', 'SUNION 5000 536'], 'done'],
    [['SMEMBERS 60000', 'SUNION 5000 537'], transactionReadsTooMuch],
    [['SINTERCARD 2 60000 6000'], transactionReadsTooMuch],
    [['SUNIONSTORE to 60000 6000'], transactionReadsTooMuch],
  ])('all members of sets: %j', async (lines, answer) => {
    expect((await execute(lines)).answer).toBe(answer);
  });

  test.each([
    [['SSCAN 90000 0 COUNT 10000', 'SSCAN 90000 0 COUNT 10000'], 'done'],
    [Array.from({ length: 7 }, () => 'SSCAN 90000 0 COUNT 10000'), transactionReadsTooMuch],
    [Array.from({ length: 7 }, () => 'SSCAN 9 0 COUNT 10000'), 'done'],
    [['SRANDMEMBER 60000 300', 'SRANDMEMBER 60000 300'], 'done'],
    [['SRANDMEMBER 60000 40000', 'SRANDMEMBER 60000 40000'], transactionReadsTooMuch],
    [['SRANDMEMBER 9 40000', 'SRANDMEMBER 9 40000'], 'done'],
  ])('so many members as are looked at, and no more than there are: %j', async (lines, answer) => {
    expect((await execute(lines)).answer).toBe(answer);
  });

  test('picks that may repeat each time', async () => {
    const draws = ['SRANDMEMBER k -300', 'SRANDMEMBER k -65236'];
    expect((await execute(draws, ['k'])).answer).toBe('done');
    const more = [...draws, 'SRANDMEMBER k -1'];
    expect((await execute(more, ['k'])).answer).toBe(transactionReadsTooMuch);
    expect((await execute(more, [])).answer, 'no set, no picks').toBe('done');
  });

  test('names that are asked for one by one', async () => {
    const names = Array.from({ length: 5_000 }, () => 'k').join(' ');
    const lines = [`EXISTS ${names}`, `SMISMEMBER k ${names}`];
    expect((await execute(lines)).answer).toBe('done');
    const many = Array.from({ length: 7 }, () => lines).flat();
    expect((await execute(many)).answer).toBe(transactionReadsTooMuch);
  });

  test('names of all sets, whose members stay where they are', async () => {
    const lines = ['RANDOMKEY', 'KEYS *', 'SCAN 0', 'SADD q 1'];
    expect(await execute(lines, ['60000', '50000'])).toEqual({ answer: 'done', brought: [] });
  });
});

describe('S22 what a transaction removes counts as changes', () => {
  test.each([
    [['SMEMBERS 65536', 'DEL 65536'], 'done'],
    [['DEL 65537'], transactionTooLarge],
    [['UNLINK 60000 6000'], transactionTooLarge],
    [['SPOP 90000 20000', 'SPOP 90000 20000'], 'done'],
    [['SPOP 90000 40000', 'SPOP 90000 40000'], transactionTooLarge],
    [['SPOP 9 40000', 'SPOP 9 40000'], 'done'],
  ])('%j', async (lines, answer) => {
    expect((await execute(lines)).answer).toBe(answer);
  });

  test('and so do all sets, each once though the transaction names it too', async () => {
    const lines = ['SADD 40000 more', 'FLUSHALL'];
    expect(await execute(lines, ['40000'])).toEqual({ answer: 'done', brought: ['40000'] });
    expect((await execute(lines, ['40000', '30000'])).answer).toBe(transactionTooLarge);
    expect((await execute(['FLUSHALL', 'KEYS *'], ['70000'])).answer).toBe(transactionTooLarge);
  });
});
