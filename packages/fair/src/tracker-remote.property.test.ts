// Properties of a tracker with a remote, whatever the remote does.
import { SynclineError, silentLogger, silentMetrics } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decayed } from './decay.js';
import { createLoopbackRemote } from './evaluation/loopback-network.js';
import { ManualClock } from './evaluation/manual-clock.js';
import { createFairTracker } from './index.js';
import { createMemoryFairStore } from './state/memory-fair-store.js';
import { StateService } from './state/state-service.js';
import { ScriptedRemote } from './testing/scripted-remote.js';

const START_MS = 1_700_000_100_000;
const secret = 'sixteen bytes or more';

test('F8 register and report never throw and send nothing themselves, however the remote behaves', () => {
  const whims = fc.constantFrom(
    'live',
    'welcome',
    'full',
    'end',
    'refuse',
    'garbage',
    'time',
    'none',
  );
  const calls = fc.array(fc.record({ whim: whims, key: fc.anything(), cost: fc.anything() }));
  fc.assert(
    fc.property(calls, fc.constantFrom(0, 100), (sequence, flushIntervalMs) => {
      const clock = new ManualClock(START_MS);
      const remote = new ScriptedRemote();
      const tracker = createFairTracker(
        { remote, secret, flushIntervalMs },
        { clock, logger: silentLogger },
      );
      const { main, secondary } = tracker.status().seeds;
      const misbehave = {
        live: () => {
          remote.stream.welcome();
          remote.stream.snapshot(main);
          remote.stream.snapshot(secondary);
        },
        welcome: () => remote.stream.welcome({ epoch: 2, wantView: true, maxElements: 0 }),
        full: () => {
          remote.stream.isFull = true;
        },
        end: () => remote.stream.fail(new SynclineError('invalid-argument', 'no')),
        refuse: () => remote.stream.fail(new SynclineError('conflict', 'no')),
        garbage: () => remote.stream.values(main, [[0, 0, Number.NaN]], { ackedSeq: Infinity }),
        time: () => clock.advanceTo(clock.monotonicMs() + 1_000),
        none: () => {},
      };
      let isOver = false;
      for (const { whim, key, cost } of sequence) {
        const { length } = remote.streams;
        if (!isOver) misbehave[whim]();
        isOver =
          (isOver || whim === 'end' || whim === 'refuse') && remote.streams.length === length;
        remote.stream.take();
        const given = [key as string, { cost: cost as number }] as const;
        expect(typeof tracker.register(...given).throttled).toBe('boolean');
        expect(tracker.report(given[0], 'failure', given[1])).toBeUndefined();
        expect(remote.stream.take()).toEqual([]);
        if (isOver) {
          clock.advanceTo(clock.monotonicMs() + 30_000);
          isOver = false;
        }
      }
    }),
  );
});

test('F9 what is pending is bounded by cells, however many outcomes wait', () => {
  const shapes = fc.record({
    levels: fc.integer({ min: 1, max: 4 }),
    columns: fc.integer({ min: 2, max: 9 }),
  });
  const outcomes = fc.array(fc.tuple(fc.nat({ max: 50 }), fc.constantFrom(0, 0, 0, 100)));
  fc.assert(
    fc.property(shapes, outcomes, ({ levels, columns }, sequence) => {
      const clock = new ManualClock(START_MS);
      const remote = new ScriptedRemote();
      const tracker = createFairTracker(
        { remote, secret, levels, columns },
        { clock, logger: silentLogger },
      );
      const { main, secondary } = tracker.status().seeds;
      remote.stream.welcome();
      remote.stream.snapshot(main);
      remote.stream.snapshot(secondary);
      remote.stream.take();
      for (const [key, passMs] of sequence) {
        tracker.report(`key-${key}`, key % 2 === 0 ? 'failure' : 'success');
        clock.advanceTo(clock.monotonicMs() + passMs);
        expect(tracker.status().pendingCells).toBeLessThanOrEqual(2 * levels * columns);
      }
      const updates = remote.stream
        .take()
        .flatMap((request) => (request.kind === 'delta-update' ? [request] : []));
      expect(updates.length).toBeLessThanOrEqual(2); // one round in flight
      for (const { deltas } of updates) expect(deltas.count).toBeLessThanOrEqual(levels * columns);
    }),
  );
});

test('F7 without outcomes p only decays, on all instances, whatever their clock skew and number of reads', () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 9 });
  const skews = fc.array(fc.integer({ min: -500, max: 500 }), { minLength: 1, maxLength: 4 });
  const policies = fc.constantFrom('exponential' as const, 'linear' as const);
  fc.assert(
    fc.property(policies, skews, pauses, (policy, skewsMs, pausesMs) => {
      const clock = new ManualClock(START_MS + 150_000);
      const deps = {
        random: createSeededRandom('f7'),
        logger: silentLogger,
        metrics: silentMetrics,
      };
      const store = createMemoryFairStore({ clock });
      const service = new StateService({ ...deps, clock, store });
      const remote = createLoopbackRemote(service, { tracker: 'api' });
      const trackers = skewsMs.map((skewMs) =>
        createFairTracker({ remote, secret, policy }, { ...deps, clock: clock.skewed(skewMs) }),
      );
      const pass = (ms: number) => clock.advanceTo(clock.monotonicMs() + ms);
      pass(0);
      for (let index = 0; index < 20; index += 1) trackers[0]?.report('a', 'failure');
      pass(200);
      const befores = trackers.map((tracker) => tracker.peek('a').probability);
      for (const pauseMs of pausesMs) {
        pass(pauseMs);
        for (const tracker of trackers) tracker.register('a');
      }
      const elapsedMs = pausesMs.reduce((sum, pauseMs) => sum + pauseMs, 0);
      const ratePerSecond = policy === 'linear' ? 0.005 : 0.01;
      const lefts = befores.map((before) => decayed({ policy, ratePerSecond }, before, elapsedMs));
      trackers.forEach((tracker, index) => {
        expect(tracker.peek('a').probability).toBeCloseTo(lefts[index] ?? 0, 10);
        expect(tracker.peek('a').probability).toBeCloseTo(lefts[0] ?? 0, 1);
      });
    }),
  );
});
