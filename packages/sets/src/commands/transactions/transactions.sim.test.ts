// Transactions over RESP, beyond what the recorded conversations show: two clients, and what is too large.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { setsLimits } from '../../limits.js';
import { openSets } from '../../open-sets.js';
import type { Sets } from '../../sets.js';
import { Talk } from '../../testing/talk.js';

const tooLarge = '-ERR transaction is larger than 65536 changes or 4 MiB\r\n';

function withSets(body: (sets: Sets, world: SimulatedBody) => Promise<void>): Promise<void> {
  return runInSimulation(1, async (world) => {
    const storage = await world.openStorage('db');
    const sets = await openSets({ ...world, storage }, { nodeId: 1, clusterId: 'test' });
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

test('S22 a transaction takes one counter for each element that it adds, and none for what it takes back', () =>
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

test('S22 what changes more than one operation holds is refused whole', () =>
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

test('S22 a command within that makes up its own operation is taken back too', () =>
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

test('what walks too many members is refused whole', () =>
  withSets(async (sets) => {
    const members = Array.from({ length: 1_000 }, (_, index) => `m${index}`);
    const walks = Array.from({ length: 66 }, () => ['SMEMBERS', 'k']);
    const talk = new Talk(sets);
    const commands = [['SADD', 'k', ...members], ['MULTI'], ['SADD', 'other', 'x'], ...walks];
    const answers = await talk.all([...commands, ['EXEC'], ['EXISTS', 'other']]);
    expect(answers).toMatch(/\r\n-ERR transaction reads sets of more than 65536 .*\r\n:0\r\n$/);
  }));

test('sets that are not in memory are brought in, and watched meanwhile', () =>
  runInSimulation(2, async (world) => {
    const storage = await world.openStorage('db');
    const options = { nodeId: 1, clusterId: 'test' };
    const before = await openSets({ ...world, storage }, options);
    await new Talk(before).ask('SADD', 'k', 'a', 'b');
    await before.close();
    const sets = await openSets({ ...world, storage }, options);
    const talk = new Talk(sets);
    await talk.ask('MULTI');
    await talk.ask('SUNIONSTORE', 'l', 'k');
    await talk.ask('DEL', 'k');
    expect(await talk.ask('EXEC')).toBe('*2\r\n:2\r\n:1\r\n');
    expect(await talk.ask('SCARD', 'l')).toBe(':2\r\n');
    await sets.close();
  }));

test('FLUSHALL within sees the sets before it and those that the transaction has made', () =>
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

test('S22 a set that does not fit into memory makes FLUSHALL within refuse all', () =>
  runInSimulation(2, async (world) => {
    const storage = await world.openStorage('db');
    const options = { nodeId: 1, clusterId: 'test', cacheBytesMax: 1 };
    const before = await openSets({ ...world, storage }, options);
    await new Talk(before).ask('SADD', 'k', ...largeMembers('k', 5));
    await before.close();
    const sets = await openSets({ ...world, storage }, options);
    const talk = new Talk(sets);
    await talk.ask('MULTI');
    await talk.ask('SADD', 'l', 'x');
    await talk.ask('FLUSHALL');
    expect(await talk.ask('EXEC')).toMatch(/^-ERR transaction reads sets of more than /);
    expect(await talk.ask('EXISTS', 'k', 'l')).toBe(':1\r\n');
    await sets.close();
  }));

test('a queue has its bounds', () =>
  withSets(async (sets) => {
    const pings = Array.from({ length: setsLimits.transactionCommandsMax.value }, () => ['PING']);
    const answers = await new Talk(sets).all([['MULTI'], ...pings, ['PING'], ['EXEC']]);
    expect(answers.split('\r\n').slice(-4)).toEqual([
      '+QUEUED',
      '-ERR transaction is larger than 10000 commands or 64 MiB',
      '-EXECABORT Transaction discarded because of previous errors.',
      '',
    ]);
  }));

test('a connection watches so many keys and no more', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    const keys = Array.from({ length: setsLimits.watchedKeysMax.value }, (_, i) => `k${i}`);
    expect(await talk.ask('WATCH', ...keys)).toBe('+OK\r\n');
    expect(await talk.ask('WATCH', 'more')).toBe('-ERR more than 1024 keys are watched\r\n');
    await talk.ask('UNWATCH');
    expect(await talk.ask('WATCH', 'more')).toBe('+OK\r\n');
  }));

test('what may have to wait is not queued', () =>
  withSets(async (sets) => {
    const talk = new Talk(sets);
    await talk.ask('MULTI');
    expect(await talk.ask('AUTH', 'x')).toBe('-ERR Command not allowed inside a transaction\r\n');
    expect(await talk.ask('EXEC')).toMatch(/^-EXECABORT /);
  }));
