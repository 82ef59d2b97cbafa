// Fair: what a decision costs a request, beside a rate limiter that keeps its counts in memory too.
//
// Keys have 20 bytes and there are 1,000 of them, what the default tuning expects. The limiter counts one
// number per key and answers with a promise; the tracker hashes the key, reads the clock and works on 3 cells
// (`register`) or 6 (`report`), however many keys there are. Nanoseconds per call are 10^9 over the rate.
import { createRequire } from 'node:module';
import { createFairTracker } from '@syncline/fair';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { AnyBench, Contestant } from './bench.js';
import { defineBench } from './measure.js';

const { version: limiterVersion } = createRequire(import.meta.url)(
  'rate-limiter-flexible/package.json',
) as { readonly version: string };

const CALLS_PER_RUN = 200_000;
/** With a failure among so many successes probabilities stay where they are, and above 0. */
const FAILURE_EVERY = 997;
const KEYS = Array.from({ length: 1_000 }, (_, index) =>
  Buffer.from(`tenant-${String(index).padStart(13, '0')}`).toString(),
);

interface DecisionSubject {
  /** Asks for `CALLS_PER_RUN` requests, one after another. */
  decideAll(): Promise<void>;
}

type Calls = 'register and report' | 'register' | 'report';

function trackerContestant(calls: Calls): Contestant<DecisionSubject> {
  return {
    name: calls,
    async open() {
      const tracker = createFairTracker();
      // Cells at 0 decay for free, so these start above it.
      for (const key of KEYS) tracker.report(key, 'failure', { cost: 5 });
      return {
        async decideAll() {
          for (let call = 0; call < CALLS_PER_RUN; call += 1) {
            const key = keyAt(call);
            if (calls !== 'report') tracker.register(key);
            const outcome = call % FAILURE_EVERY === 0 ? 'failure' : 'success';
            if (calls !== 'register') tracker.report(key, outcome);
          }
        },
        [Symbol.asyncDispose]: () => tracker.close(),
      };
    },
  };
}

const limiterContestant: Contestant<DecisionSubject> = {
  name: 'rate-limiter-flexible',
  version: limiterVersion,
  async open() {
    const limiter = new RateLimiterMemory({ points: 1e9, duration: 3600 });
    return {
      async decideAll() {
        for (let call = 0; call < CALLS_PER_RUN; call += 1) await limiter.consume(keyAt(call));
      },
      async [Symbol.asyncDispose]() {
        for (const key of KEYS) await limiter.delete(key); // each holds a timer
      },
    };
  },
};

export const fairBenches: readonly AnyBench[] = [
  benchOf('fair-decision', 'register and report'),
  benchOf('fair-register', 'register'),
  benchOf('fair-report', 'report'),
];

function benchOf(name: string, calls: Calls): AnyBench {
  return defineBench<DecisionSubject>({
    name,
    unit: 'requests/s',
    about: `${calls} with 20-byte keys, against one consume in memory`,
    contestants: [trackerContestant(calls), limiterContestant],
    async run(subject) {
      await subject.decideAll();
      return CALLS_PER_RUN;
    },
  });
}

function keyAt(call: number): string {
  return KEYS[call % KEYS.length] ?? '';
}
