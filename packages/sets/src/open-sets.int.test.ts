// The sets over a real LevelDB: many elements, a start after a kill, and one after a clean stop.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSystemClock,
  createSystemRandom,
  openLevelStorage,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { openEngine } from './open-engine.js';
import { openSets } from './open-sets.js';
import type { Sets } from './sets.js';

const bytes = (text: string) => Buffer.from(text);
const clock = createSystemClock();
const ports = {
  clock,
  random: createSystemRandom(),
  logger: silentLogger,
  metrics: silentMetrics,
};
const options = { nodeId: 3, clusterId: 'int' };

async function inDirectory(body: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'syncline-sets-'));
  try {
    await body(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function membersOf(sets: Sets, name: string): Promise<number> {
  let count = 0;
  for await (const member of sets.members(bytes(name))) count += member.length > 0 ? 1 : 0;
  return count;
}

test('S6 what was acknowledged is there after a process that just ended, and after a clean stop', () =>
  inDirectory(async (directory) => {
    const members = Array.from({ length: 20_000 }, (_, index) => bytes(`member ${index}`));
    {
      await using storage = await openLevelStorage(ports, { directory });
      const sets = await openSets({ ...ports, storage }, options);
      for (let from = 0; from < members.length; from += 500) {
        await sets.add(bytes('a'), members.slice(from, from + 500));
      }
      await sets.remove(bytes('a'), members.slice(0, 5_000));
      expect(sets.cardinality(bytes('a'))).toBe(15_000);
      // No stop: the storage closes below as after a kill, with an `open` identity record.
    }
    await using storage = await openLevelStorage(ports, { directory });
    const again = await openSets({ ...ports, storage }, options);
    expect(await membersOf(again, 'a')).toBe(15_000);
    expect(again.has(bytes('a'), bytes('member 4999'))).toBe(false);
    expect(again.has(bytes('a'), bytes('member 5000'))).toBe(true);
    const { xor, liveDots } = again.digest();
    const { epoch } = again.status();
    await again.close();
    const third = await openSets({ ...ports, storage }, options);
    expect(third.digest()).toMatchObject({ xor, liveDots });
    expect([third.status().epoch, third.cardinality(bytes('a'))]).toEqual([epoch, 15_000]);
    await third.close();
  }));

test('a random member and a random set come from the storage', () =>
  inDirectory(async (directory) => {
    await using storage = await openLevelStorage(ports, { directory });
    const sets = await openSets({ ...ports, storage }, options);
    for (const name of ['a', 'b', 'c']) {
      await sets.add(
        bytes(name),
        Array.from({ length: 1_000 }, (_, index) => bytes(`${name} ${index}`)),
      );
    }
    await sets.close();
    const engine = await openEngine({ ...ports, storage }, options);
    using view = await engine.keyspace.openView(new AbortController().signal);
    for (let draw = 0; draw < 20; draw += 1) {
      const name = await view.randomSet();
      expect(name).toBeDefined();
      const member = await view.randomMember(name ?? bytes(''));
      const prefix = `${Buffer.from(name ?? '').toString()} `;
      expect(Buffer.from(member).toString().startsWith(prefix)).toBe(true);
      expect(view.has(name ?? bytes(''), member)).toBe(true);
    }
    expect(view.cardinality(bytes('a'))).toBe(1_000);
    await expect(view.randomMember(bytes('none'))).rejects.toMatchObject({ code: 'not-found' });
    const positions: number[] = [];
    for await (const batch of view.members(bytes('b'))) {
      positions.push(...batch.map((member) => view.positionOf(member)));
    }
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    await engine.stop();
  }));
