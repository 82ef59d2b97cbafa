// A new instance beside one with a full state: every cell of both structures is in use.
import { silentLogger, silentMetrics } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { LoopbackNetwork } from './evaluation/loopback-network.js';
import { createServiceRig } from './testing/service-rig.js';
import { createFairTracker } from './tracker.js';
import { decodeSyncResponse } from './wire/sync-codec.js';

const DELAY_MS = 50;
const ROUND_TRIP_MS = 2 * DELAY_MS;
const SEED_BYTES_MAX = 66 * 1_024;
const KEYS = Array.from({ length: 10_000 }, (_, index) => `tenant-${index}`);

test('a new instance decides like the others one round trip after its welcome, for 66 KiB per seed', async () => {
  const { clock, service, pass } = createServiceRig();
  const bytesBySeed = new Map<bigint, number>();
  let welcomedAtMs = Number.NaN;
  const network = new LoopbackNetwork(
    {
      clock,
      random: createSeededRandom('network'),
      accept: (sink) =>
        service.connect({
          write(message) {
            const { seed, welcome } = decodeSyncResponse(message);
            if (welcome !== undefined) welcomedAtMs = clock.monotonicMs() + DELAY_MS;
            else bytesBySeed.set(seed, (bytesBySeed.get(seed) ?? 0) + message.length);
            return sink.write(message);
          },
          end: (error) => sink.end(error),
        }),
    },
    { delayMs: DELAY_MS, lossRatio: 0, duplicateRatio: 0 },
  );
  const start = (name: string) =>
    createFairTracker(
      { secret: new Uint8Array(32), remote: network.remote('cold'), flushIntervalMs: 100 },
      { clock, random: createSeededRandom(name), logger: silentLogger, metrics: silentMetrics },
    );
  const old = start('old');
  pass(1_000);
  for (const key of KEYS) old.report(key, 'failure');
  pass(2_000);

  bytesBySeed.clear();
  const fresh = start('fresh');
  pass(DELAY_MS + ROUND_TRIP_MS); // connected, and greeted
  expect(clock.monotonicMs()).toBeGreaterThanOrEqual(welcomedAtMs);
  expect(fresh.peek('tenant-0').probability).toBe(0);
  pass(welcomedAtMs + ROUND_TRIP_MS - clock.monotonicMs());
  const differences = KEYS.map((key) =>
    Math.abs(fresh.peek(key).probability - old.peek(key).probability),
  );
  expect(Math.max(...differences)).toBeLessThan(1e-12);

  const { main, secondary } = fresh.status().seeds;
  for (const seed of [main, secondary]) {
    const bytes = bytesBySeed.get(BigInt(seed)) ?? 0;
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(SEED_BYTES_MAX);
  }
  await Promise.all([old, fresh].map((tracker) => tracker.close({ timeoutMs: 0 })));
});
