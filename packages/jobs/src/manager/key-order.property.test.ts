import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyOrder } from './key-order.js';

/** How long a call holds its place, in turns of the microtask queue, and whether it gives up before its turn. */
const callArbitrary = fc.record({
  key: fc.constantFrom('a', 'b', 'c'),
  checks: fc.nat(5),
  works: fc.nat(5),
  isAborted: fc.boolean(),
});

const turns = async (count: number) => {
  for (let index = 0; index < count; index += 1) await Promise.resolve();
};

test('calls of one key run one at a time and in their order, whoever is slow or gives up', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(callArbitrary, { maxLength: 20 }), async (calls) => {
      const order = new KeyOrder();
      const running = new Set<string>();
      const done: { key: string; index: number }[] = [];
      const run = async (
        { key, checks, works, isAborted }: (typeof calls)[number],
        index: number,
      ) => {
        const place = order.enter(key, 1);
        try {
          await turns(checks);
          await place.turn(isAborted ? AbortSignal.abort() : undefined);
          expect(running.has(key)).toBe(false);
          running.add(key);
          await turns(works);
          running.delete(key);
          done.push({ key, index });
        } finally {
          place.leave();
        }
      };
      const results = await Promise.allSettled(calls.map(run));
      await order.drained();
      const kept = calls
        .map((call, index) => ({ ...call, index }))
        .filter((call) => !call.isAborted);
      for (const key of ['a', 'b', 'c']) {
        const own = done.filter((call) => call.key === key).map(({ index }) => index);
        expect(own).toEqual(kept.filter((call) => call.key === key).map(({ index }) => index));
      }
      expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(
        calls.length - kept.length,
      );
    }),
  );
});
