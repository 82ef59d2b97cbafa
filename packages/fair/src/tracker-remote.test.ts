import { SynclineError } from '@syncline/kernel';
import { describe, expect, test } from 'vitest';
import { ManualClock } from './evaluation/manual-clock.js';
import { createFairTracker, type FairTrackerOptions } from './index.js';
import { keyCheckOf } from './key-hash.js';
import { deltaUpdatesOf, ScriptedRemote } from './testing/scripted-remote.js';

const secret = Uint8Array.from({ length: 32 }, (_, index) => index);
const MAIN = 1_700_000_100_000;

function world(options: FairTrackerOptions = {}) {
  const clock = new ManualClock(MAIN + 300_000);
  const remote = new ScriptedRemote();
  const tracker = createFairTracker({ remote, secret, ...options }, { clock });
  const { main, secondary } = tracker.status().seeds;
  const pass = (ms: number) => clock.advanceTo(clock.monotonicMs() + ms);
  const greet = () => {
    remote.stream.welcome({ serverTimeMs: clock.nowMs(), activeInstances: 4 });
    remote.stream.snapshot(main);
    remote.stream.snapshot(secondary);
    remote.stream.take();
  };
  return { remote, tracker, main, secondary, pass, greet };
}

describe('a tracker with a remote', () => {
  test('sends a hello with its configuration and the check of its secret', () => {
    const { remote } = world({ policy: 'linear', leakPerSecond: 0.02 });
    expect(remote.stream.take()).toMatchObject([
      {
        kind: 'hello',
        tracker: 'api',
        clientId: expect.stringMatching(/^[0-9a-f]{32}$/),
        lastEpoch: 0,
        config: {
          levels: 3,
          columns: 1000,
          policy: 2,
          ratePerSecond: 0.02,
          windowMs: 300_000,
          hash: 1,
          keyCheck: 0x2dbc0d12fbf83b73n,
          increment: 0.04,
          decrement: 0.000_04,
        },
      },
    ]);
  });

  test('sends an outcome to both structures, one cell per level', () => {
    const { remote, tracker, pass, greet } = world();
    greet();
    tracker.report('tenant-1', 'failure');
    tracker.report('tenant-1', 'success', { cost: 2 });
    pass(100);
    const [main, secondary] = deltaUpdatesOf(remote.stream.take());
    const fold = `${0.04 - 2 * 0.000_04} [0, ${1 - 2 * 0.000_04}]`;
    expect(main).toEqual({
      seq: 1,
      epoch: 1,
      deltas: [`0:274 ${fold}`, `1:799 ${fold}`, `2:324 ${fold}`],
    });
    expect(secondary?.deltas.map((delta) => delta.split(' ')[0])).toEqual([
      '0:118',
      '1:882',
      '2:350',
    ]);
  });

  test('decides by the state of the service, and reports its status', () => {
    const { remote, tracker, main, secondary, pass, greet } = world();
    expect(tracker.peek('tenant-1')).toMatchObject({ synced: false, gain: 1 });
    greet();
    remote.stream.values(main, [
      [0, 274, 1],
      [1, 799, 1],
      [2, 324, 0.75],
    ]);
    expect(tracker.peek('tenant-1')).toMatchObject({ probability: 0.75, synced: true });
    tracker.report('b', 'failure');
    pass(100);
    expect(tracker.status()).toMatchObject({
      connected: true,
      epoch: 1,
      activeInstances: 4,
      seeds: { main, secondary },
      pendingCells: 6,
      msSinceSync: 100,
      gain: 1,
    });
    remote.stream.fail(new SynclineError('unavailable', 'gone'));
    pass(1_000);
    expect(tracker.status()).toMatchObject({ connected: false, epoch: 1, gain: 4 });
    tracker.report('c', 'failure');
    expect(tracker.peek('c')).toMatchObject({ probability: 0.16, gain: 4, synced: false });
  });

  test('requests the next structure at a rotation, even without calls', () => {
    const { remote, greet, pass, secondary } = world();
    greet();
    pass(300_000);
    expect(remote.stream.take()).toEqual([
      { kind: 'state-request', seed: BigInt(secondary + 300_000) },
    ]);
  });

  test('sends pending outcomes when it closes, and then does nothing more', async () => {
    const { remote, tracker, greet, pass } = world();
    greet();
    tracker.report('a', 'failure');
    const closing = tracker.close({ timeoutMs: 50 });
    const again = tracker.close();
    tracker.report('a', 'failure');
    expect(tracker.register('a').throttled).toBe(false);
    expect(deltaUpdatesOf(remote.stream.take())).toHaveLength(2);
    pass(50);
    await Promise.all([closing, again]);
    expect(remote.isClosed).toBe(true);
  });
});

test.each<[string, FairTrackerOptions]>([
  ['secret', { secret: undefined as unknown as string }],
  ['secret', { secret: 'too short' }],
  ['flushIntervalMs', { flushIntervalMs: -1 }],
  ['flushIntervalMs', { flushIntervalMs: Number.NaN }],
  ['gainAfterMs', { gainAfterMs: Number.POSITIVE_INFINITY }],
  ['retryBudgetMs', { retryBudgetMs: 100 }],
])('refuses %s in %o', (field, options) => {
  expect(() => world(options)).toThrow(
    expect.objectContaining({ code: 'invalid-argument', details: { field } }),
  );
});

test('the check of a secret has the published value', () => {
  expect(keyCheckOf(secret)).toBe(0x2dbc0d12fbf83b73n);
});
