import { connect } from 'node:net';
import { startRedis } from '@syncline/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encode, Inbox } from '../testing/differential/resp-asker.js';
import { textsOf } from '../testing/differential/resp-replies.js';
import { Glob } from './glob.js';

const letters = ['a', 'b', '-', ']', '\\', '^', '*'];
const texts = ['', ...letters, ...letters.flatMap((one) => letters.map((other) => one + other))];
const patterns = fc.string({ unit: fc.constantFrom(...letters, '?', '[', '*'), maxLength: 7 });

test('S13 patterns match what they match in redis-server', async () => {
  await using redis = await startRedis();
  const socket = connect(redis.port, '127.0.0.1');
  const inbox = new Inbox();
  socket.on('data', (chunk) => inbox.push(chunk));
  const ask = (commands: readonly (readonly string[])[]) => {
    socket.write(encode(commands));
    return inbox.take(commands.length);
  };
  await ask(texts.map((text) => ['SADD', text, 'member']));
  await fc.assert(
    fc.asyncProperty(patterns, async (pattern) => {
      const [reply] = await ask([['KEYS', pattern]]);
      const glob = new Glob(Buffer.from(pattern, 'latin1'));
      const matching = texts.filter((text) => glob.matches(Buffer.from(text), 0, text.length));
      expect(matching.toSorted()).toEqual(textsOf(reply).toSorted());
    }),
    { numRuns: 2_000 },
  );
  socket.destroy();
});
