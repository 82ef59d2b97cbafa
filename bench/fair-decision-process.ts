// A separate process for the fair-decision benches: it decides one request after another and answers each
// message of its parent with the processor time per request, in ns.
//
// Separate, since other loaded modules matter: a class that extends String, as ioredis declares one, takes
// `charCodeAt` off V8's fast path in the whole process. Processor time, since the machine may be busy.
import { pathToFileURL } from 'node:url';
import { createFairTracker } from '@syncline/fair';
import { createSeededRandom } from '@syncline/kernel/testing';
import { RateLimiterMemory } from 'rate-limiter-flexible';

export const DECISION_PROGRAM = import.meta.filename;

export interface DecisionPlan {
  readonly contestant: 'tracker' | 'limiter';
  readonly calls: 'register and report' | 'register' | 'report';
  readonly keys: 'numbered' | 'random' | 'many';
  readonly withIoredis: boolean;
  /** Whether about a fifth of the requests are refused; otherwise (nearly) none. */
  readonly isRefusing: boolean;
}

const CALLS_PER_RUN = 200_000;
/** With one failure among this many successes probabilities stay where they are, and above 0. */
const FAILURE_EVERY = 997;
/** One key in five is blocked for the limiter that refuses. */
const BLOCKED_EVERY = 5;

/** All have 20 bytes. `random` keys look like `9f86d081884c7d659a2f`. */
function keysOf(kind: DecisionPlan['keys']): readonly string[] {
  const random = createSeededRandom('bench/fair');
  return Array.from({ length: kind === 'many' ? 100_000 : 1_000 }, (_, index) =>
    kind === 'random'
      ? Buffer.from(random.bytes(10)).toString('hex')
      : Buffer.from(`tenant-${String(index).padStart(13, '0')}`).toString(),
  );
}

function trackerRun(plan: DecisionPlan, keys: readonly string[]): () => Promise<void> {
  const { calls, isRefusing } = plan;
  const tracker = createFairTracker();
  // Probabilities of 0.2, or 0.004: cells at 0 would decay for free.
  for (const key of keys) tracker.report(key, 'failure', { cost: isRefusing ? 5 : 0.1 });
  return async () => {
    for (let call = 0; call < CALLS_PER_RUN; call += 1) {
      const key = keys[call % keys.length] ?? '';
      if (calls !== 'report') tracker.register(key);
      const outcome = call % FAILURE_EVERY === 0 ? 'failure' : 'success';
      if (calls !== 'register') tracker.report(key, outcome);
    }
  };
}

function limiterRun(plan: DecisionPlan, keys: readonly string[]): () => Promise<void> {
  const limiter = new RateLimiterMemory({ points: 1e9, duration: 3600 });
  const blocked = plan.isRefusing ? keys.filter((_, index) => index % BLOCKED_EVERY === 0) : [];
  return async () => {
    for (const key of blocked) await limiter.block(key, 3600);
    for (let call = 0; call < CALLS_PER_RUN; call += 1) {
      try {
        await limiter.consume(keys[call % keys.length] ?? '');
      } catch {} // refused
    }
  };
}

async function serve(plan: DecisionPlan): Promise<void> {
  if (plan.withIoredis) await import('ioredis');
  const keys = keysOf(plan.keys);
  const run = plan.contestant === 'tracker' ? trackerRun(plan, keys) : limiterRun(plan, keys);
  const measure = async () => {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    process.send?.(((user + system) * 1_000) / CALLS_PER_RUN);
  };
  process.on('message', () => void measure());
}

const [, program = '', plan = ''] = process.argv;
if (pathToFileURL(program).href === import.meta.url) {
  await serve(JSON.parse(plan) as DecisionPlan);
}
