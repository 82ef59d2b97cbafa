// Fair: what a decision costs a request, beside a rate limiter that keeps its counts in memory too.
//
// Keys have 20 bytes and there are 1,000 of them, what the default tuning expects. The limiter counts one
// number per key and answers with a promise; the tracker finds the key's cells, reads the clock and works on 3
// of them (`register`) or 6 (`report`), however many keys there are. Nanoseconds per call are 10^9 over the rate.
//
// The tracker remembers where the cells of keys lie, so these 1,000 are its best case: each has a place of its
// own. Random keys meet in some places, and the later of two takes it. With 100,000 keys none is remembered until
// its turn comes again, and each `register` hashes.
import { createRequire } from 'node:module';
import { createFairTracker } from '@syncline/fair';
import { createSeededRandom } from '@syncline/kernel/testing';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { AnyBench, Contestant } from './bench.js';
import { defineBench } from './measure.js';

const { version: limiterVersion } = createRequire(import.meta.url)(
  'rate-limiter-flexible/package.json',
) as { readonly version: string };

const CALLS_PER_RUN = 200_000;
/** With a failure among so many successes probabilities stay where they are, and above 0. */
const FAILURE_EVERY = 997;
const FEW_KEYS = numberedKeys(1_000);
const RANDOM_KEYS = randomKeys(1_000);
const MANY_KEYS = numberedKeys(100_000);

/** The same in each run, such as `9f86d081884c7d659a2f`. */
function randomKeys(count: number): readonly string[] {
  const random = createSeededRandom('bench/fair');
  return Array.from({ length: count }, () => Buffer.from(random.bytes(10)).toString('hex'));
}

function numberedKeys(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) =>
    Buffer.from(`tenant-${String(index).padStart(13, '0')}`).toString(),
  );
}

interface DecisionSubject {
  /** Asks for `CALLS_PER_RUN` requests, one after another. */
  decideAll(): Promise<void>;
}

type Calls = 'register and report' | 'register' | 'report';

function trackerContestant(calls: Calls, keys: readonly string[]): Contestant<DecisionSubject> {
  return {
    name: calls,
    async open() {
      const tracker = createFairTracker();
      // Cells at 0 decay for free, so these start above it.
      for (const key of keys) tracker.report(key, 'failure', { cost: 5 });
      return {
        async decideAll() {
          for (let call = 0; call < CALLS_PER_RUN; call += 1) {
            const key = keyAt(keys, call);
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

function limiterContestant(keys: readonly string[]): Contestant<DecisionSubject> {
  return {
    name: 'rate-limiter-flexible',
    version: limiterVersion,
    async open() {
      const limiter = new RateLimiterMemory({ points: 1e9, duration: 3600 });
      return {
        async decideAll() {
          for (let call = 0; call < CALLS_PER_RUN; call += 1) {
            await limiter.consume(keyAt(keys, call));
          }
        },
        async [Symbol.asyncDispose]() {
          for (const key of keys) await limiter.delete(key); // each holds a timer
        },
      };
    },
  };
}

export const fairBenches: readonly AnyBench[] = [
  benchOf('fair-decision', 'register and report', FEW_KEYS),
  benchOf('fair-decision-random-keys', 'register and report', RANDOM_KEYS),
  benchOf('fair-decision-many-keys', 'register and report', MANY_KEYS),
  benchOf('fair-register', 'register', FEW_KEYS),
  benchOf('fair-report', 'report', FEW_KEYS),
];

function benchOf(name: string, calls: Calls, keys: readonly string[]): AnyBench {
  return defineBench<DecisionSubject>({
    name,
    unit: 'requests/s',
    about: `${calls} with ${keys.length} ${keys === RANDOM_KEYS ? 'random ' : ''}keys of 20 bytes, against one consume in memory`,
    contestants: [trackerContestant(calls, keys), limiterContestant(keys)],
    async run(subject) {
      await subject.decideAll();
      return CALLS_PER_RUN;
    },
  });
}

function keyAt(keys: readonly string[], call: number): string {
  return keys[call % keys.length] ?? '';
}
