// A client that goes while its command works through a view: reads end, changes do not.
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import type { KeyspaceView } from '../keyspace.js';
import { PlainKeyspace } from '../testing/plain-keyspace.js';
import { RecordedReply } from '../testing/recorded-reply.js';
import type { CommandContext } from './command.js';
import { genericCommands } from './generic/generic-commands.js';
import { setCommands } from './set/set-commands.js';

const commands = new Map([...setCommands, ...genericCommands].map((one) => [one.name, one]));

/** The client goes as soon as its command has a view. */
class LeftKeyspace extends PlainKeyspace {
  readonly client = new AbortController();

  override async openView(): Promise<KeyspaceView> {
    const view = await super.openView();
    this.client.abort();
    return view;
  }
}

async function runLeft(words: readonly string[]): Promise<LeftKeyspace> {
  const random = createSeededRandom(1);
  const keyspace = new LeftKeyspace({ random });
  for (const set of ['a', 'b']) keyspace.add(listOf([set, '1', '2', '3', '4', '5']), 0, 1);
  const context = {
    args: listOf(words),
    reply: new RecordedReply(),
    keyspace,
    facts: { random },
  } as unknown as CommandContext;
  try {
    await commands.get(words[0] ?? '')?.runLong?.(context, keyspace.client.signal);
  } finally {
    expect([keyspace.openViews, keyspace.gateHolds]).toEqual([0, 0]);
  }
  return keyspace;
}

function listOf(words: readonly string[]): ByteList {
  return ByteList.of(...words.map((word) => Buffer.from(word, 'latin1')));
}

test.each([
  ['exists', 'a'],
  ['keys', '*'],
  ['randomkey'],
  ['sdiff', 'a', 'b'],
  ['sinter', 'a', 'b'],
  ['sintercard', '2', 'a', 'b'],
  ['smembers', 'a'],
  ['smismember', 'a', '1'],
  ['spop', 'a', '3'],
  ['srandmember', 'a', '-3'],
  ['sunion', 'a', 'b'],
])('%s ends when its client is gone', async (...words) => {
  await expect(runLeft(words)).rejects.toMatchObject({ code: 'aborted' });
});

test.each([
  [['del', 'a', 'b'], 0],
  [['flushall'], 0],
  [['sunionstore', 'a', 'b'], 5],
  [['sdiffstore', 'a', 'a', 'b'], 0],
] as const)('%s goes on, so that nothing is half done', async (words, cardinality) => {
  const keyspace = await runLeft(words);
  expect(keyspace.cardinality(listOf(['a']), 0)).toBe(cardinality);
});
