// Transactions over RESP, beyond what the recorded conversations show: two clients, and what is too large.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { setsLimits } from '../../limits.js';
import { openSets } from '../../local-sets.js';
import type { Sets } from '../../sets.js';
import { Talk } from '../../testing/talk.js';

const queueFull = '-ERR transaction is larger than 10000 commands, 131072 arguments or 64 MiB';
const readsTooMuch = /^-ERR transaction reads more than 65536 members and names or 32 MiB, /;
const tooLarge = '-ERR transaction is larger than 65536 changes or 4 MiB\r\n';

function withSets(body: (sets: Sets, world: SimulatedBody) => Promise<void>): Promise<void> {
  return runInSimulation(1, async (world) => {
    const sets = await openSets(world, { nodeId: 1, clusterId: 'test' });
    await body(sets, world);
    await sets.close();
  });
}

test('a key that another client changed makes EXEC do nothing', () =>
  withSets(async (sets) => {
    const one = new Talk(sets);
    const other = new Talk(sets);
    await one.ask('SADD', 'k', 'a');
    await one.ask('WATCH', 'k');
    await other.ask('SADD', 'k', 'b');
    await one.ask('MULTI');
    await one.ask('SADD', 'k', 'c');
    expect(await one.ask('EXEC')).toBe('*-1\r\n');
    expect(await one.ask('SCARD', 'k')).toBe(':2\r\n');
  }));

test('S5 EXEC does not reveal a change that is not stored', () =>
  withSets(async (sets, world) => {
    const one = new Talk(sets);
    await one.ask('WATCH', 'k');
    await one.ask('MULTI');
    world.node.disk.adjust({ isFull: true });
    const changed = new Talk(sets).ask('SADD', 'k', 'b');
    const seen = one.ask('EXEC');
    await world.clock.sleep(1_000);
    world.node.disk.adjust({ isFull: false });
    expect(await changed).toMatch(/^-MISCONF /);
    expect(await seen).toMatch(/^-MISCONF /);
  }));

test('S5 a command that ends the turn starts the replies that may be refused again', () =>
  withSets(async (sets, world) => {
    const text = 'x'.repeat(100); // it must be longer than the two replies after it
    world.node.disk.adjust({ isFull: true });
    const answers = await new Talk(sets).all([
      ['ECHO', text],
      ['BGSAVE'],
      ['SCARD', 'k'],
      ['SADD', 'k', 'a'],
    ]);
    world.node.disk.adjust({ isFull: false });
    const [, echoed, , card, refused] = answers.split('\r\n');
    expect([echoed, card]).toEqual([text, ':0']);
    expect(refused).toMatch(/^-MISCONF /);
  }));

test('a transaction that is refused and undone does not touch the keys of others', () =>
  withSets(async (sets) => {
    const one = new Talk(sets);
    const other = new Talk(sets);
    await one.ask('SADD', 'k', 'a');
    await one.ask('WATCH', 'k', 'l');
    await other.ask('MULTI');
    await other.ask('SREM', 'k', 'a');
    await other.ask('SADD', 'l', ...largeMembers('a', 40));
    await other.ask('SADD', 'l', ...largeMembers('b', 40));
    expect(await other.ask('EXEC')).toBe(tooLarge);
    await one.ask('MULTI');
    await one.ask('SCARD', 'k');
    expect(await one.ask('EXEC')).toBe('*1\r\n:1\r\n');
  }));

test('a new dot for a member that was there does not touch a watched key', () =>
  withSets(async (sets) => {
    const one = new Talk(sets);
    const other = new Talk(sets);
    await one.ask('SADD', 'k', 'a');
    await one.ask('WATCH', 'k');
    await other.ask('SADD', 'k', 'a');
    await one.ask('MULTI');
    await one.ask('SCARD', 'k');
    expect(await one.ask('EXEC')).toBe('*1\r\n:1\r\n');
  }));

test('S22 a transaction takes one counter per element that it adds, and none for what it removes again', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('MULTI');
    await talk.ask('SADD', 'k', 'a', 'b');
    await talk.ask('SREM', 'k', 'b');
    await talk.ask('SMOVE', 'k', 'l', 'a');
    await talk.ask('EXEC');
    const [entry] = sets.version().entries();
    expect(entry?.counter).toBe(1);
    await talk.ask('MULTI');
    await talk.ask('SADD', 'm', 'x');
    await talk.ask('DEL', 'm');
    expect(await talk.ask('EXEC')).toBe('*2\r\n:1\r\n:1\r\n');
    expect(sets.version().entries()).toEqual([entry]);
  }));

/** Together with one more they are larger than an operation. */
const largeMembers = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`.padEnd(65_536, '.'));

test('S22 a transaction that changes more than one operation holds is refused as a whole', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('SADD', 'before', 'x');
    const version = sets.version().toString();
    await talk.ask('MULTI');
    await talk.ask('SADD', 'k', 'one');
    await talk.ask('DEL', 'before');
    await talk.ask('SADD', 'k', ...largeMembers('a', 40));
    await talk.ask('SADD', 'k', ...largeMembers('b', 40));
    expect(await talk.ask('EXEC')).toBe(tooLarge);
    expect(sets.version().toString()).toBe(version);
    expect(await talk.ask('DBSIZE')).toBe(':1\r\n');
    expect(await talk.ask('SMEMBERS', 'before')).toBe('*1\r\n$1\r\nx\r\n');
    expect(await talk.ask('EXEC')).toBe('-ERR EXEC without MULTI\r\n');
  }));

test('S22 a command that is several changes is undone with the rest', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('SADD', 'k', ...largeMembers('k', 40));
    await talk.ask('MULTI');
    await talk.ask('SADD', 'l', ...largeMembers('l', 40));
    await talk.ask('SUNIONSTORE', 'm', 'k');
    expect(await talk.ask('EXEC')).toBe(tooLarge);
    expect(await talk.ask('EXISTS', 'k', 'l', 'm')).toBe(':1\r\n');
    expect(await talk.ask('SADD', 'l', 'x')).toBe(':1\r\n');
  }));

test('a transaction that reads too many members is refused as a whole', () =>
  withSets(async (sets) => {
    const members = Array.from({ length: 1_000 }, (_, index) => `m${index}`);
    const walks = Array.from({ length: 66 }, () => ['SMEMBERS', 'k']);
    const talk = new Talk(sets);
    const commands = [['SADD', 'k', ...members], ['MULTI'], ['SADD', 'other', 'x'], ...walks];
    const answers = await talk.all([...commands, ['EXEC'], ['EXISTS', 'other']]);
    expect(answers).toMatch(/\r\n-ERR transaction reads more than 65536 .*\r\n:0\r\n$/);
  }));

test('FLUSHALL inside a transaction removes earlier sets and those of the transaction', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('SADD', 'old', 'a');
    await talk.ask('MULTI');
    await talk.ask('SADD', 'new', 'a');
    await talk.ask('FLUSHALL');
    await talk.ask('SADD', 'newer', 'a');
    await talk.ask('KEYS', '*');
    expect(await talk.ask('EXEC')).toBe('*4\r\n:1\r\n+OK\r\n:1\r\n*1\r\n$5\r\nnewer\r\n');
  }));

test('queued commands are limited', () =>
  withSets(async (sets) => {
    const pings = Array.from({ length: setsLimits.transactionCommandsMax.value }, () => ['PING']);
    const answers = await new Talk(sets).all([['MULTI'], ...pings, ['PING'], ['EXEC']]);
    expect(answers.split('\r\n').slice(-4)).toEqual([
      '+QUEUED',
      queueFull,
      '-EXECABORT Transaction discarded because of previous errors.',
      '',
    ]);
  }));

test('S10 the arguments of queued commands are limited', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    const half = Array.from({ length: setsLimits.transactionWordsMax.value / 2 - 2 }, () => 'm');
    await talk.ask('MULTI');
    expect(await talk.ask('SREM', 'k', ...half)).toBe('+QUEUED\r\n');
    expect(await talk.ask('SREM', 'k', ...half)).toBe('+QUEUED\r\n');
    expect(await talk.ask('PING')).toBe(`${queueFull}\r\n`);
    expect(await talk.ask('EXEC')).toMatch(/^-EXECABORT /);
  }));

test('S10 what all connections queue together is limited, and released when they disconnect or end', () =>
  withSets(async (sets) => {
    const perClient = 60 * 1024 * 1024;
    const megabyte = 'x'.repeat(1_000_000);
    const filled = Math.floor(perClient / (megabyte.length + 1_000));
    const fill = async () => {
      const talk = new Talk(sets);
      await talk.ask('MULTI');
      const commands = Array.from({ length: filled }, () => ['ECHO', megabyte]);
      for (const command of commands) expect(await talk.ask(...command)).toBe('+QUEUED\r\n');
      return talk;
    };
    const full = [await fill(), await fill(), await fill(), await fill()];
    const late = new Talk(sets);
    await late.ask('MULTI');
    const tryOnce = async () => {
      for (let count = 0; count < filled; count += 1) {
        const answer = await late.ask('ECHO', megabyte);
        if (answer !== '+QUEUED\r\n') return answer;
      }
      return 'all queued';
    };
    expect(await tryOnce()).toMatch(/^-ERR transactions of all clients are larger than 256 MiB/);
    expect(await late.ask('EXEC')).toMatch(/^-EXECABORT /);
    full[0]?.leave();
    await full[1]?.ask('DISCARD');
    await late.ask('MULTI');
    expect(await tryOnce()).toBe('all queued');
    for (const talk of [...full.slice(1), late]) talk.leave();
  }));

test('S10 what all connections watch together is limited, and released', () =>
  withSets(async (sets) => {
    const each = setsLimits.watchedKeysMax.value;
    const keys = Array.from({ length: each }, (_, index) => `k${index}`);
    const talks = Array.from({ length: setsLimits.watchersMax.value / each }, () => new Talk(sets));
    for (const talk of talks) expect(await talk.ask('WATCH', ...keys)).toBe('+OK\r\n');
    const late = new Talk(sets);
    expect(await late.ask('WATCH', 'k')).toMatch(/^-ERR too many keys are watched by all/);
    await talks[0]?.ask('UNWATCH');
    expect(await late.ask('WATCH', 'k')).toBe('+OK\r\n');
    talks[1]?.leave();
    expect(await late.ask('WATCH', ...keys.slice(1))).toBe('+OK\r\n');
  }));

test('S10 a transaction with too large a reply is undone, and says so', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('MULTI');
    await talk.ask('SADD', 'l', 'x');
    const megabyte = 'x'.repeat(1_000_000);
    for (let count = 0; count < 34; count += 1) await talk.ask('ECHO', megabyte);
    expect(await talk.ask('EXEC')).toMatch(/^-ERR transaction result is larger than 32 MiB/);
    expect(await talk.ask('EXISTS', 'l')).toBe(':0\r\n');
  }));

test.each([
  ['SSCAN', ['k', '0', 'COUNT', '10000'], 66],
  ['SRANDMEMBER', ['k', '-250'], 263],
])('S22 %s inside a transaction counts what it looks at', (name, words, count) =>
  withSets(async (sets) => {
    const members = Array.from({ length: 1_000 }, (_, index) => `m${index}`);
    const commands = Array.from({ length: count }, () => [name, ...words]);
    const talk = new Talk(sets);
    const before = [['SADD', 'k', ...members], ['MULTI'], ['SADD', 'other', 'x']];
    const answers = await talk.all([...before, ...commands, ['EXEC'], ['EXISTS', 'other']]);
    expect(answers).toMatch(/\r\n-ERR transaction reads more than 65536 .*\r\n:0\r\n$/);
  }),
);

test('S22 sets of too many bytes are refused before they are read', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('SADD', 'k', ...largeMembers('k', 50));
    await talk.ask('SADD', 'l', 'x');
    const inTransaction = async (...command: readonly string[]) => {
      await talk.ask('MULTI');
      await talk.ask(...command);
      return talk.ask('EXEC');
    };
    const otherSets = (count: number) => Array.from({ length: count }, () => 'k');
    expect(await inTransaction('SUNIONSTORE', 'm', 'l', ...otherSets(6))).toBe('*1\r\n:51\r\n');
    expect(await inTransaction('SUNIONSTORE', 'm', 'l', ...otherSets(11))).toMatch(readsTooMuch);
    expect(await inTransaction('SDIFF', 'l', ...otherSets(11))).toBe('*1\r\n*1\r\n$1\r\nx\r\n');
    expect(await inTransaction('SRANDMEMBER', 'k', '-600')).toMatch(readsTooMuch);
  }));

test('S19 patterns inside a transaction share the steps of one turn', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('SADD', 'k', ...largeMembers('a', 1));
    const pattern = `*${'.'.repeat(150)}b`;
    const scan = ['SSCAN', 'k', '0', 'MATCH', pattern];
    expect(await talk.ask(...scan)).toMatch(/^\*2\r\n/);
    const answers = await talk.all([['MULTI'], scan, scan, ['EXEC']]);
    expect(answers).toMatch(/-ERR the pattern takes more than \d+ steps/);
  }));

test('a connection watches at most 1,024 keys', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    const keys = Array.from({ length: setsLimits.watchedKeysMax.value }, (_, i) => `k${i}`);
    expect(await talk.ask('WATCH', ...keys)).toBe('+OK\r\n');
    expect(await talk.ask('WATCH', ...keys.toReversed(), 'k0'), 'again').toBe('+OK\r\n');
    expect(await talk.ask('WATCH', 'more')).toBe(
      '-ERR too many watched keys, at most 1024 are allowed\r\n',
    );
    await talk.ask('UNWATCH');
    expect(await talk.ask('WATCH', ...keys.map(() => 'one'), 'more')).toBe('+OK\r\n');
    const words = Array.from({ length: setsLimits.turnMembersMax.value }, () => 'one');
    expect(await talk.ask('WATCH', ...words)).toBe(
      "-ERR more than 16384 arguments for 'watch', send fewer at once\r\n",
    );
  }));

test('a command that may have to wait is not queued', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('MULTI');
    expect(await talk.ask('AUTH', 'x')).toBe('-ERR Command not allowed inside a transaction\r\n');
    expect(await talk.ask('EXEC')).toMatch(/^-EXECABORT /);
  }));
