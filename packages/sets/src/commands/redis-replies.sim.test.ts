// Our replies match those of Redis byte for byte. `redis-replies.int.test.ts` records and checks them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { openSets } from '../local-sets.js';
import { commandsOf, renderConversation } from '../testing/conversation.js';
import { Talk } from '../testing/talk.js';

const directory = join(import.meta.dirname, '../../testdata/redis-replies');

test.each(readdirSync(directory))('S13 to %s we answer as Redis does', async (file) => {
  const recorded = readFileSync(join(directory, file), 'utf8');
  const commands = commandsOf(recorded);
  await runInSimulation(1, async (ports) => {
    const options = { nodeId: 1, clusterId: 'test' };
    const sets = await openSets(
      ports,
      file === 'password.txt' ? { ...options, password: 'secret' } : options,
    );
    const output = await new Talk(sets).all(commands.map(({ words }) => words));
    expect(renderConversation(commands, output)).toBe(recorded);
    await sets.close();
  });
});
