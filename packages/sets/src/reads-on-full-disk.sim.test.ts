// Every read on a disk that takes no more writes, while part of the sets is not folded and memory holds none whole.
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { openSets } from './open-sets.js';
import { Talk } from './testing/talk.js';

const disks = {
  'that is full': { isFull: true },
  'that has failed': { syncFailureProbability: 1 },
} as const;

test.each(Object.keys(disks) as (keyof typeof disks)[])(
  'S7 on a disk %s every read goes on, of folded sets and of others',
  (disk) =>
    runInSimulation(1, async (ports) => {
      const storage = await ports.openStorage('db');
      const options = { nodeId: 1, clusterId: 'sim', cacheBytesMax: 1 };
      const sets = await openSets({ ...ports, storage }, options);
      const talk = new Talk(sets);
      const numbers = (from: number, to: number) =>
        Array.from({ length: to - from }, (_, index) => `m${from + index}`);
      await talk.ask('SADD', 'large', ...numbers(0, 3_000));
      await talk.ask('SADD', 'gone', 'x');
      await talk.ask('SADD', 'folded', 'x', 'y');
      await ports.clock.sleep(1_000); // all of it is folded, and has left memory
      await talk.ask('SADD', 'large', ...numbers(3_000, 4_000));
      await talk.ask('SREM', 'large', ...numbers(0, 500));
      await talk.ask('SREM', 'gone', 'x');
      await talk.ask('SADD', 'new', 'z');
      ports.node.disk.adjust(disks[disk]);
      await talk.ask('SADD', 'refused', 'x'); // not yet synced: perhaps only its fold fails
      await ports.clock.sleep(2_000);
      expect(await talk.ask('SADD', 'folded', 'w')).toMatch(/^-MISCONF/);

      const wordsOf = (answer: string) =>
        answer.split('\r\n').filter((word) => /^[a-z]/.test(word));
      const ask = async (...words: readonly string[]) => wordsOf(await talk.ask(...words));
      const isKept = (await talk.ask('SCARD', 'refused')) === ':1\r\n';
      const names = ['folded', 'large', 'new', ...(isKept ? ['refused'] : [])];
      const large = numbers(500, 4_000).sort();
      expect((await ask('SCAN', '0', 'COUNT', '100')).sort()).toEqual(names);
      expect((await ask('KEYS', '*')).sort()).toEqual(names);
      expect(names).toContain((await ask('RANDOMKEY'))[0]);
      expect(await talk.ask('DBSIZE')).toBe(`:${names.length}\r\n`);
      expect((await ask('SMEMBERS', 'large')).sort()).toEqual(large);
      expect((await ask('SUNION', 'large', 'new')).sort()).toEqual([...large, 'z'].sort());
      expect(await talk.ask('SINTERCARD', '2', 'large', 'large')).toBe(':3500\r\n');
      for (const count of ['-300', '300', '3000']) {
        const picked = await ask('SRANDMEMBER', 'large', count);
        expect(picked.length).toBe(Math.abs(Number(count)));
        expect(large).toEqual(expect.arrayContaining(picked));
      }
      expect((await ask('SSCAN', 'large', '0', 'COUNT', '10000')).sort()).toEqual(large);
      expect(await talk.ask('SUNIONSTORE', 'to', 'large', 'new')).toMatch(/^-MISCONF/);
      talk.leave();
      await sets.close();
    }),
);
