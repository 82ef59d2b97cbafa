// A command may find its sets at hand or not, so there are two ways through many commands. They must give
// one and the same answer, and leave the same sets behind.
import { createSeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { PlainKeyspace } from '../testing/plain-keyspace.js';
import { RecordedReply, type ReplyValue } from '../testing/recorded-reply.js';
import type { Command, CommandContext } from './command.js';
import { genericCommands } from './generic/generic-commands.js';
import { setCommands } from './set/set-commands.js';

const commands = new Map([...setCommands, ...genericCommands].map((one) => [one.name, one]));
const keys = fc.constantFrom('a', 'b', 'c', '');
const members = fc.constantFrom('1', '2', '3', '4', 'five', '');
const steps = fc.oneof(
  fc.tuple(fc.constantFrom('sadd', 'srem', 'smismember'), keys, members, members),
  fc.tuple(fc.constant('sadd'), keys, members, members, members, members),
  fc.tuple(fc.constantFrom('sinter', 'sunion', 'sdiff', 'del', 'unlink', 'exists'), keys, keys),
  fc.tuple(fc.constantFrom('sinterstore', 'sunionstore', 'sdiffstore'), keys, keys, keys),
  fc.tuple(fc.constant('sintercard'), fc.constant('2'), keys, keys),
  fc.tuple(fc.constant('sintercard'), fc.constant('2'), keys, keys, fc.constant('LIMIT'), members),
  fc.tuple(fc.constant('smembers'), keys),
  fc.tuple(fc.constantFrom('spop', 'srandmember'), keys),
  fc.tuple(fc.constantFrom('spop', 'srandmember'), keys, fc.constantFrom('0', '2', '9', '-3', 'x')),
);

test('S13 a command answers the same within a turn and beyond it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 30 }), async (sequence) => {
      const short = createWorld();
      const long = createWorld();
      for (const words of sequence) {
        const answers = [
          await run(short, words, 'run'),
          await run(long, words, 'runLong'),
        ] as const;
        // Only what is random may differ: then both go on from what the first has left.
        if (words[0] === 'spop' || words[0] === 'srandmember') {
          expect(shapeOf(answers[1])).toEqual(shapeOf(answers[0]));
          await copy(short, long);
        } else {
          expect(unordered(answers[1])).toEqual(unordered(answers[0]));
        }
        expect(long.keyspace.openViews).toBe(0);
        expect(long.keyspace.gateHolds).toBe(0);
      }
      expect(await contents(long)).toEqual(await contents(short));
    }),
    { numRuns: 300 },
  );
});

test('scans beyond a turn page as those within it do', async () => {
  const world = createWorld();
  const all = Array.from({ length: 40 }, (_, number) => `m${number}`);
  await run(world, ['sadd', 'a', ...all], 'run');
  for (const way of ['run', 'runLong'] as const) {
    for (const count of [1, 3, 10, 100]) {
      const seen: string[] = [];
      let cursor = '0';
      do {
        const [page] = await run(world, ['sscan', 'a', cursor, 'COUNT', String(count)], way);
        const [next, items] = itemsOf(page);
        seen.push(...itemsOf(items).map(textOf));
        cursor = textOf(next);
      } while (cursor !== '0');
      expect(seen.toSorted()).toEqual(all.toSorted());
    }
  }
});

interface World {
  readonly keyspace: PlainKeyspace;
}

function createWorld(): World {
  return { keyspace: new PlainKeyspace({ random: createSeededRandom(1) }) };
}

async function run(
  { keyspace }: World,
  words: readonly string[],
  way: 'run' | 'runLong',
): Promise<readonly ReplyValue[]> {
  const command = commands.get(words[0] ?? '');
  if (command === undefined) throw new Error(`no command ${words[0]}`);
  const reply = new RecordedReply();
  const args = ByteList.of(...words.map((word) => Buffer.from(word, 'latin1')));
  const context = { args, reply, keyspace, facts: { random: createSeededRandom(2) } };
  await runOne(command, context as unknown as CommandContext, way);
  return reply.values;
}

async function runOne(command: Command, context: CommandContext, way: 'run' | 'runLong') {
  if (way === 'run' || command.runLong === undefined) return command.run(context);
  return command.runLong(context, new AbortController().signal);
}

async function contents(world: World): Promise<readonly unknown[]> {
  const names = ['a', 'b', 'c', ''];
  return Promise.all(
    names.map(async (name) => unordered(await run(world, ['smembers', name], 'run'))),
  );
}

async function copy(from: World, to: World): Promise<void> {
  for (const name of ['a', 'b', 'c', '']) {
    await run(to, ['del', name], 'run');
    const [shown] = await run(from, ['smembers', name], 'run');
    const texts = itemsOf(shown).map(textOf);
    if (texts.length > 0) await run(to, ['sadd', name, ...texts], 'run');
  }
}

function unordered(values: readonly ReplyValue[]): unknown {
  return values.map((value) =>
    value.kind === 'set' ? { kind: 'set', items: value.items.map(textOf).toSorted() } : value,
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
