// Commands that take longer than a turn: what happens when their client disconnects, and how their changes are
// divided.
import { SynclineError } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { setsLimits } from '../limits.js';
import { PlainKeyspace } from '../testing/plain-keyspace.js';
import { OPERATION_BYTES } from './load.js';
import { ChangeParts } from './long-work.js';
import { CommandRig, wordsOf } from './testing/command-rig.js';

const operationElements = setsLimits.operationElementsMax.value;
const numbered = (count: number) => Array.from({ length: count }, (_, number) => `m${number}`);

/** The client disconnects as soon as its command lets others run, or has received part of its reply. */
async function runAndLeave(words: readonly string[]): Promise<CommandRig> {
  const rig = new CommandRig();
  for (const set of ['a', 'b']) await rig.send('SADD', set, ...numbered(200));
  for (const name of numbered(600)) await rig.send('SADD', name, 'x');
  rig.keyspace.pauseEvery = 1;
  rig.keyspace.betweenSlices = () => rig.gone.abort();
  const command = rig.command(words[0] ?? '');
  try {
    await command.runLong?.(rig.context(words), rig.gone.signal);
  } finally {
    expect(rig.gone.signal.aborted).toBe(true);
    expect([rig.keyspace.openPins, rig.keyspace.gateHolds]).toEqual([0, 0]);
  }
  return rig;
}

test.each([
  ['exists', ...numbered(100)],
  ['keys', '*'],
  ['sdiff', 'a', 'c'],
  ['sinter', 'a', 'b'],
  ['sintercard', '2', 'a', 'b'],
  ['smembers', 'a'],
  ['smismember', 'a', ...numbered(100)],
  ['srandmember', 'a', '-1000'],
  ['srandmember', 'a', '190'],
  ['sunion', 'a', 'b'],
])('%s ends when its client has gone', async (...words) => {
  await expect(runAndLeave(words)).rejects.toMatchObject({ code: 'aborted' });
});

test.each([
  ['del', ['a', 'b', ...numbered(600)], 0],
  ['flushall', [], 0],
  ['sunionstore', ['a', 'b', 'c', ...numbered(600)], 201],
  ['sdiffstore', ['a', 'a', 'b', ...numbered(600)], 0],
] as const)('%s is completed anyway', async (name, words, cardinality) => {
  const rig = await runAndLeave([name, ...words]);
  expect(rig.keyspace.cardinality(wordsOf('a'), 0)).toBe(cardinality);
});

test.each([
  ['del', 'a'],
  ['spop', 'a', '150'],
  ['sadd', 'a', 'x'],
])('%s does not begin once its client has gone', async (...words) => {
  const rig = new CommandRig();
  await rig.send('SADD', 'a', ...numbered(200));
  rig.gone.abort();
  const running = rig.command(words[0] ?? '').runLong?.(rig.context(words), rig.gone.signal);
  await expect(running).rejects.toMatchObject({ code: 'aborted' });
  expect(rig.keyspace.cardinality(wordsOf('a'), 0)).toBe(200);
});

test('a reply is written no faster than the client takes it', async () => {
  const rig = new CommandRig();
  await rig.send('SADD', 'a', ...numbered(200));
  let isFull = false;
  rig.reply.room = () => {
    isFull = true;
    return new Promise(() => {});
  };
  void rig.command('smembers').runLong?.(rig.context(['SMEMBERS', 'a']), rig.gone.signal);
  await new Promise(setImmediate);
  expect(isFull).toBe(true);
  const [shown] = rig.reply.values;
  expect(shown?.kind === 'set' && shown.items.length).toBe(1);
});

test.each(['SADD', 'SREM'])('%s of more than one operation is applied in parts', async (name) => {
  const rig = new CommandRig();
  const members = numbered(operationElements + 1);
  if (name === 'SREM') await rig.send('SADD', 'k', ...members);
  const before = rig.keyspace.operations.length;
  expect(await rig.send(name, 'k', ...members)).toEqual({ kind: 'integer', value: members.length });
  const parts = rig.keyspace.operations.slice(before);
  expect(parts).toEqual([...Array.from({ length: 16 }, () => 4_096), 1]);
  await rig.send('SADD', 'l', ...members.slice(1));
  expect(rig.keyspace.operations.at(-1)).toBe(operationElements);
});

test('SADD of large members is divided by their bytes', async () => {
  const rig = new CommandRig();
  const members = numbered(60).map((member) => member.padEnd(60_000, '.'));
  expect(await rig.send('SADD', 'k', ...members)).toEqual({ kind: 'integer', value: 60 });
  expect(rig.keyspace.operations).toEqual(Array.from({ length: 15 }, () => 4));
});

test.each([['DEL', 'large'], ['SUNIONSTORE', 'copy', 'large'], ['FLUSHALL']])(
  '%s is one operation if it fits in one, even if reading takes several turns',
  async (...words) => {
    const rig = new CommandRig();
    await rig.send('SADD', 'large', ...numbered(30_000));
    const before = rig.keyspace.operations.length;
    await rig.send(...words);
    expect(rig.keyspace.operations.slice(before)).toEqual([30_000]);
  },
);

test('S19 a STORE whose result fits in one operation reads its sets while others write', async () => {
  const rig = new CommandRig();
  for (const set of ['a', 'b']) await rig.send('SADD', set, ...numbered(200));
  rig.keyspace.pauseEvery = 10;
  const holds: number[] = [];
  rig.keyspace.betweenSlices = () => void holds.push(rig.keyspace.gateHolds);
  const words = ['SINTERSTORE', 'copy', 'a', 'b'];
  await rig.command('sinterstore').runLong?.(rig.context(words), rig.gone.signal);
  expect(rig.reply.values).toEqual([{ kind: 'integer', value: 200 }]);
  expect(holds.length).toBeGreaterThan(3);
  expect(new Set(holds)).toEqual(new Set([0]));
  expect(rig.keyspace.operations.at(-1)).toBe(200);
  expect(rig.keyspace.isWatched(wordsOf('a'), 0, rig.client)).toBe(false);
});

test.each(['a', 'copy'])(
  'S2 a STORE sees what others change in %j while it reads',
  async (changed) => {
    const rig = new CommandRig();
    for (const set of ['a', 'b']) await rig.send('SADD', set, ...numbered(200));
    await rig.send('SADD', 'b', 'late');
    rig.keyspace.pauseEvery = 10;
    const holds: number[] = [];
    rig.keyspace.betweenSlices = () => {
      if (holds.length === 0) rig.keyspace.add(wordsOf(changed, 'late'), 0, 1);
      holds.push(rig.keyspace.gateHolds);
    };
    const words = ['SINTERSTORE', 'copy', 'a', 'b'];
    await rig.command('sinterstore').runLong?.(rig.context(words), rig.gone.signal);
    const cardinality = changed === 'a' ? 201 : 200;
    expect(rig.reply.values).toEqual([{ kind: 'integer', value: cardinality }]);
    expect(rig.keyspace.cardinality(wordsOf('copy'), 0)).toBe(cardinality);
  },
);

test('changes that fit in one operation are one, over several sets and in both directions', async () => {
  const { keyspace, hold, changes } = await createParts();
  const set = Buffer.from('set');
  await changes.push('add', set, Buffer.from('a'));
  await changes.push('add', set, Buffer.from('b'));
  await changes.push('remove', set, Buffer.from('a'));
  await changes.push('add', Buffer.from('other'), Buffer.from('a'));
  expect(keyspace.operations).toEqual([]);
  await changes.finish(hold);
  expect(keyspace.operations).toEqual([4]);
  expect(keyspace.cardinality(wordsOf('set'), 0)).toBe(1);
});

test('changes that do not fit are several operations, and nothing is lost between them', async () => {
  const { keyspace, hold, changes } = await createParts();
  const set = Buffer.from('set');
  const count = 60;
  const filling = Buffer.alloc(OPERATION_BYTES / (count / 2), 'x');
  for (let number = 0; number < count; number += 1)
    await changes.push('add', set, Buffer.concat([filling, Buffer.from(String(number))]));
  await changes.finish(hold);
  expect(keyspace.operations.length).toBeGreaterThan(1);
  expect(keyspace.cardinality(wordsOf('set'), 0)).toBe(count);
});

test.each([
  ['a full disk', new SynclineError('storage-full', 'no room'), 8_192],
  ['a bug', new TypeError('a bug'), 'a bug'],
])('S7 SPOP when its third part meets %s', async (_, error, outcome) => {
  const rig = new CommandRig();
  await rig.send('SADD', 'k', ...numbered(15_000));
  let parts = 0;
  rig.keyspace.closeGate = async () => ({
    nextPart: () => undefined,
    pause: () => undefined,
    commit: () => {
      parts += 1;
      if (parts < 3) return undefined;
      if (error instanceof SynclineError) return error;
      throw error;
    },
    release: () => {},
  });
  const context = rig.context(['SPOP', 'k', '14999']);
  const running = rig.command('spop').runLong?.(context, rig.gone.signal);
  if (typeof outcome === 'string') return expect(running).rejects.toThrow(outcome);
  // What was removed for good is returned.
  await running;
  const [popped] = rig.reply.values;
  expect(popped?.kind === 'set' && popped.items.length).toBe(outcome);
});

async function createParts() {
  const keyspace = new PlainKeyspace({ random: createSeededRandom(1) });
  const hold = await keyspace.closeGate(new AbortController().signal);
  return { keyspace, hold, changes: new ChangeParts({ keyspace, hold }) };
}
