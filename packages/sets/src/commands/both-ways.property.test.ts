// Many commands can run in two ways: within a turn, or in slices. Both must give the same reply and result in the
// same sets; and in slices they must keep their guarantees while others write.
import { silentMetrics } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PlainKeyspace } from '../testing/plain-keyspace.js';
import type { ReplyValue } from '../testing/recorded-reply.js';
import { createCommandTable } from './command-table.js';
import { CommandRig } from './testing/command-rig.js';

const table = createCommandTable({ metrics: silentMetrics });
const NAMES = ['a', 'b', 'c', ''];
const keys = fc.constantFrom(...NAMES);
const members = fc.constantFrom('1', '2', '3', '4', 'five', '');
const steps = fc.oneof(
  fc.tuple(fc.constantFrom('sadd', 'srem', 'smismember'), keys, members, members),
  fc.tuple(fc.constant('sadd'), keys, members, members, members, members),
  fc.tuple(fc.constantFrom('sinter', 'sunion', 'sdiff', 'del', 'unlink', 'exists'), keys, keys),
  fc.tuple(fc.constantFrom('sinter', 'sunion', 'sdiff'), keys, keys, keys),
  fc.tuple(fc.constantFrom('sinterstore', 'sunionstore', 'sdiffstore'), keys, keys, keys),
  fc.tuple(fc.constant('sintercard'), fc.constant('2'), keys, keys),
  fc.tuple(fc.constant('sintercard'), fc.constant('2'), keys, keys, fc.constant('LIMIT'), members),
  fc.tuple(fc.constant('smembers'), keys),
  fc.tuple(fc.constantFrom('keys'), fc.constantFrom('*', '?', '[ab]')),
  fc.tuple(fc.constantFrom('flushall', 'flushdb')),
  fc.tuple(fc.constantFrom('spop', 'srandmember'), keys),
  fc.tuple(fc.constantFrom('spop', 'srandmember'), keys, fc.constantFrom('0', '2', '9', '-3', 'x')),
);

test('S13 a command returns the same reply within a turn and in slices', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 30 }), async (sequence) => {
      const short = new CommandRig({ table });
      const long = new CommandRig({ table });
      for (const words of sequence) {
        const answers = [
          await run(short, words, 'run'),
          await run(long, words, 'runLong'),
        ] as const;
        // Only random picks may differ: then both continue with what the first has left.
        if (words[0] === 'spop' || words[0] === 'srandmember') {
          expect(shapeOf(answers[1])).toEqual(shapeOf(answers[0]));
          await copy(short, long);
        } else {
          expect(unordered(answers[1])).toEqual(unordered(answers[0]));
        }
        expect([long.keyspace.openPins, long.keyspace.gateHolds]).toEqual([0, 0]);
      }
      expect(await contents(long)).toEqual(await contents(short));
    }),
    { numRuns: 300 },
  );
});

const reads = fc.oneof(
  fc.tuple(fc.constantFrom('sinter', 'sunion', 'sdiff'), keys, keys, keys),
  fc.tuple(fc.constant('sintercard'), fc.constant('2'), keys, keys),
  fc.tuple(fc.constant('smembers'), keys),
);
const writes = fc.tuple(fc.constantFrom('sadd', 'srem'), keys, members, members);

test('S13 a read in slices returns the state at its start, whatever others write meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(writes, { minLength: 5, maxLength: 12 }),
      reads,
      fc.array(writes, { minLength: 3, maxLength: 12 }),
      async (before, read, meanwhile) => {
        const rig = new CommandRig({ table });
        for (const words of before) await run(rig, words, 'run');
        const expected = await run(rig, read, 'run');
        writeMeanwhile(rig, meanwhile);
        expect(unordered(await run(rig, read, 'runLong'))).toEqual(unordered(expected));
        expect(rig.keyspace.openPins).toBe(0);
      },
    ),
    { numRuns: 300 },
  );
});

const changes = fc.oneof(
  fc.tuple(fc.constantFrom('sinterstore', 'sunionstore', 'sdiffstore'), keys, keys, keys),
  fc.tuple(fc.constantFrom('del', 'unlink'), keys, keys),
  fc.tuple(fc.constant('flushall')),
);

test('S2 a change in slices that is one operation has a place in a single order with the writes of others', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(writes, { minLength: 5, maxLength: 12 }),
      changes,
      fc.array(writes, { minLength: 1, maxLength: 8 }),
      async (before, change, meanwhile) => {
        const shared = new CommandRig({ table });
        for (const words of before) await run(shared, words, 'run');
        const waiting = writeMeanwhile(shared, meanwhile);
        const answer = await run(shared, change, 'runLong');
        shared.keyspace.betweenSlices = () => {};
        for (const words of waiting) await run(shared, words, 'run');
        const found = JSON.stringify([answer, await contents(shared)]);
        const serial: string[] = [];
        for (let place = 0; place <= meanwhile.length - waiting.length; place += 1) {
          const rig = new CommandRig({ table });
          for (const words of [...before, ...meanwhile.slice(0, place)])
            await run(rig, words, 'run');
          const expected = await run(rig, change, 'run');
          for (const words of meanwhile.slice(place)) await run(rig, words, 'run');
          serial.push(JSON.stringify([expected, await contents(rig)]));
        }
        expect(serial).toContain(found);
      },
    ),
    { numRuns: 300 },
  );
});

test('S13 what SPOP returns in slices was removed by it, and by no other client', async () => {
  const random = createSeededRandom(3);
  const keyspace = new PlainKeyspace({ random });
  const rig = new CommandRig({ table, keyspace });
  const all = Array.from({ length: 20_000 }, (_, number) => `m${number}`);
  await rig.send('SADD', 'k', ...all);
  const popped = itemsOf((await run(rig, ['spop', 'k', '19000'], 'runLong'))[0]).map(textOf);
  const left = itemsOf((await run(rig, ['smembers', 'k'], 'run'))[0]).map(textOf);
  expect([...popped, ...left].sort()).toEqual(all.sort());
  expect(keyspace.operations.slice(1)).toEqual([4_096, 4_096, 4_096, 4_096, 2_616]);
});

/**
 * Others write whenever the command of the rig lets them, one command at a time. Returns those that are still
 * waiting.
 */
function writeMeanwhile(
  { keyspace }: CommandRig,
  meanwhile: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  const others = new CommandRig({ table, keyspace });
  const waiting = [...meanwhile];
  keyspace.betweenSlices = () => {
    const words = waiting.shift();
    if (words !== undefined) void others.command(words[0] ?? '').run(others.context(words));
  };
  return waiting;
}

async function run(
  rig: CommandRig,
  words: readonly string[],
  way: 'run' | 'runLong',
): Promise<readonly ReplyValue[]> {
  const command = rig.command(words[0] ?? '');
  const context = rig.context(words);
  if (way === 'run' || command.runLong === undefined) await command.run(context);
  else await command.runLong(context, rig.gone.signal);
  return [...rig.reply.values];
}

async function contents(
  rig: CommandRig,
): Promise<readonly (readonly [name: string, members: readonly string[]])[]> {
  const all: (readonly [string, readonly string[]])[] = [];
  for (const name of NAMES) {
    const [shown] = await run(rig, ['smembers', name], 'run');
    all.push([name, itemsOf(shown).map(textOf).sort()]);
  }
  return all;
}

async function copy(from: CommandRig, to: CommandRig): Promise<void> {
  for (const [name, list] of await contents(from)) {
    await run(to, ['del', name], 'run');
    if (list.length > 0) await run(to, ['sadd', name, ...list], 'run');
  }
}

function unordered(values: readonly ReplyValue[]): unknown {
  return values.map((value) =>
    value.kind === 'set' || value.kind === 'array'
      ? { kind: value.kind, items: value.items.map((item) => JSON.stringify(item)).sort() }
      : value,
  );
}

/** Kinds and numbers of items. */
function shapeOf(values: readonly ReplyValue[]): unknown {
  return values.map((value) => ({
    kind: value.kind,
    items: 'items' in value ? value.items.length : undefined,
  }));
}

function itemsOf(value: ReplyValue | undefined): readonly ReplyValue[] {
  return value !== undefined && 'items' in value ? value.items : [];
}

function textOf(value: ReplyValue | undefined): string {
  return value !== undefined && 'text' in value ? value.text : '';
}
