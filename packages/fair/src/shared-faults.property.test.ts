// Trackers that share a state service over links that take time and are cut, with what was in flight on them,
// and a service that may lose everything.
import { type Clock, SynclineError, silentLogger, silentMetrics } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { createLoopbackRemote, type LoopbackService } from './evaluation/loopback-network.js';
import { ManualClock } from './evaluation/manual-clock.js';
import { createFairTracker, type FairTracker, type FairTrackerOptions } from './index.js';
import { createMemoryFairStore } from './state/memory-fair-store.js';
import { StateService } from './state/state-service.js';
import type { StateStream, StreamSink } from './state/stream-outbox.js';

/** Long runs: a third of the schedules set by `FAIR_SCHEDULES`. */
const RUNS = Math.ceil(inject('fairSchedules') / 3);
const KEYS = ['a', 'b', 'c'];
const HOP_MS_MAX = 60;
/** The largest decay of a probability in a second, for both policies with the default tuning. */
const FADE_PER_SECOND = 0.01;

interface Instance {
  readonly tracker: FairTracker;
  /** Ends its stream, if it has one. */
  cut(): void;
}

class World {
  readonly #clock = new ManualClock(1_700_000_150_000);
  readonly #deps = {
    random: createSeededRandom('faults'),
    logger: silentLogger,
    metrics: silentMetrics,
  };
  readonly instances: readonly Instance[];
  #service = this.#start();

  constructor(options: FairTrackerOptions, delaysMs: readonly number[]) {
    this.instances = delaysMs.map((delayMs) => this.#join(options, delayMs));
  }

  pass(ms: number): void {
    this.#clock.advanceTo(this.#clock.monotonicMs() + ms);
  }

  /** The service loses everything but its address. */
  crash(): void {
    this.#service = this.#start();
    for (const { cut } of this.instances) cut();
  }

  #start(): StateService {
    const store = createMemoryFairStore({ clock: this.#clock });
    return new StateService({ ...this.#deps, clock: this.#clock, store });
  }

  #join(options: FairTrackerOptions, delayMs: number): Instance {
    const clock = this.#clock;
    const link: { end?: () => void } = {};
    const service: LoopbackService = {
      connect: (sink: StreamSink): StateStream => {
        let isCut = false;
        const served = this.#service.connect({
          write(message) {
            const bytes = message.slice();
            clock.setTimer(delayMs, () => isCut || sink.write(bytes)); // what is cut off is lost
            return true;
          },
          end: (error) => sink.end(error),
        });
        link.end = () => {
          isCut = true;
          served.closed();
          sink.end(new SynclineError('unavailable', 'cut'));
        };
        return served;
      },
    };
    const remote = createLoopbackRemote(service, { tracker: 'api' });
    const slowLink: Clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
      setTimer: (ms, callback) => clock.setTimer(ms, callback),
      defer: (callback) => clock.setTimer(delayMs, callback), // how the loopback carries messages
    };
    const settings = { ...options, remote, secret: 'sixteen bytes or more' };
    const tracker = createFairTracker(settings, { ...this.#deps, clock: slowLink });
    return { tracker, cut: () => link.end?.() };
  }
}

const steps = fc.array(
  fc.record({
    passMs: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 300 })),
    instance: fc.nat({ max: 2 }),
    key: fc.constantFrom(...KEYS),
    act: fc.constantFrom('failure', 'failure', 'failure', 'success', 'cut', 'cut', 'crash'),
  }),
  { minLength: 40, maxLength: 80 },
);
/** The largest decay in transit, that of the highest probability. */
const manyFailures = Array.from({ length: 40 }, () => ({
  passMs: 0,
  instance: 0,
  key: 'a',
  act: 'failure',
}));
const delays = fc.tuple(...KEYS.map(() => fc.integer({ min: 1, max: HOP_MS_MAX })));

test('F5 every outcome counts once, wherever a stream is cut', { timeout: 600_000 }, () => {
  const options = {
    levels: 1,
    columns: 2,
    leakPerSecond: 0,
    increment: 1 / 256, // sums of it are exact
    decrement: 1 / 4096,
    outageGain: false,
    retryBudgetMs: 3_600_000,
  };
  fc.assert(
    fc.property(steps, delays, (schedule, delaysMs) => {
      const world = new World(options, delaysMs);
      world.pass(500);
      let failures = 0;
      for (const { passMs, instance, act } of schedule) {
        world.pass(passMs);
        const at = world.instances[instance];
        // Instance 0 stays connected: when all are disconnected, views are merged and outcomes no longer add
        // up.
        if (act === 'cut' && instance > 0) at?.cut();
        if (act !== 'failure') continue;
        at?.tracker.report('a', act);
        failures += 1;
      }
      world.pass(5_000);
      for (const { tracker } of world.instances) {
        expect(tracker.peek('a')).toMatchObject({ synced: true, probability: failures / 256 });
        expect(tracker.status().pendingCells).toBe(0);
      }
    }),
    { numRuns: RUNS },
  );
});

test('F6 when faults stop all views converge, whatever happened to streams and service', {
  timeout: 600_000,
}, () => {
  const policies = fc.constantFrom('exponential' as const, 'linear' as const);
  fc.assert(
    fc.property(policies, steps, delays, (policy, schedule, delaysMs) => {
      const world = new World({ policy, levels: 2, columns: 5 }, delaysMs);
      world.pass(500);
      for (const { passMs, instance, key, act } of schedule) {
        world.pass(passMs);
        const at = world.instances[instance];
        if (act === 'crash') world.crash();
        else if (act === 'cut') at?.cut();
        else at?.tracker.report(key, act);
      }
      world.pass(8_000); // to reconnect, and to drop or flush what is pending
      const [first, ...others] = world.instances.map(({ tracker }) => tracker);
      // A value takes two hops to the tracker, the link and the loopback, and decays no more than that in
      // transit.
      const fadedOnTheWay = (FADE_PER_SECOND * 2 * HOP_MS_MAX) / 1_000;
      for (const other of others) {
        for (const key of KEYS) {
          const distance = Math.abs(
            other.peek(key).probability - (first?.peek(key).probability ?? Number.NaN),
          );
          expect(distance).toBeLessThanOrEqual(1e-6 + fadedOnTheWay);
        }
        expect(other.status()).toMatchObject({ connected: true, pendingCells: 0, gain: 1 });
      }
    }),
    { numRuns: RUNS, examples: [['exponential', manyFailures, [1, HOP_MS_MAX, 1]]] },
  );
});
