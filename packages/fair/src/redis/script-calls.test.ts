// "Nothing was sent" and `not-applied` are reported only if no part of a change reached Redis.
import { createSystemRandom, SynclineError, silentLogger, silentMetrics } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { deltasOf, linearNamespace as namespace, SEED } from '../conformance/store-samples.js';
import { ManualClock } from '../evaluation/manual-clock.js';
import { partsOfDeltas } from './change-batch.js';
import type { RedisConnection } from './redis-connection.js';
import { ScriptCalls } from './script-calls.js';
import { packIds, packNumbers } from './seed-change.js';
import type { SeedRegister } from './seed-register.js';

const unreachable = () =>
  Promise.reject(new SynclineError('unavailable', 'Redis is unreachable', { retryable: false }));
const text = (value: string) => Buffer.concat([Buffer.of(0xa0 | value.length), Buffer.from(value)]);

/** Redis applies every change; the calls around it may fail. */
function callsWith({ isLost = false, list = async () => {} }) {
  const reply = [text('a'), Buffer.of(1), text('e'), Buffer.of(9), packIds([1, 1, 7])];
  const connection = {
    reachability: { isLost },
    unreachable: (note: string) => new SynclineError('unavailable', `Redis is unreachable${note}`),
    script: async () => Buffer.concat([...reply, packNumbers([0.5])]),
  } as unknown as RedisConnection;
  const register = { isListed: () => true, list } as unknown as SeedRegister;
  const ports = { clock: new ManualClock(0), random: createSystemRandom() };
  const deps = { ...ports, logger: silentLogger, metrics: silentMetrics, connection, register };
  const calls = new ScriptCalls(
    { ...deps, nowMs: undefined },
    { origin: '~', retryBudgetMs: 1_000 },
  );
  const [changes] = partsOfDeltas(deltasOf({ row: 1, column: 7, amount: 0.5 }), false);
  if (changes === undefined) throw new Error('no part was made');
  const id = { clientId: 'one', seq: 1 };
  return (part: number) => calls.apply({ namespace, seed: SEED, id, changes, part, parts: 2 });
}

test('a change that is applied and cannot be listed has an unknown outcome', async () => {
  const apply = callsWith({ list: unreachable });
  await expect(apply(1)).rejects.toMatchObject({ code: 'unavailable', outcome: 'unknown' });
});

test('while Redis is lost the first part of a change is not sent, and a later one leaves it half applied', async () => {
  const apply = callsWith({ isLost: true });
  await expect(apply(1)).rejects.toMatchObject({
    outcome: 'not-applied',
    message: expect.stringContaining('nothing was sent'),
  });
  await expect(apply(2)).rejects.toMatchObject({
    outcome: 'unknown',
    message: expect.not.stringContaining('nothing was sent'),
  });
});
