// A process of its own for the fair-decision benches: it asks for one request after another and answers each
// message of its parent with the processor time that a request took, in ns.
//
// Its own process, since what else is loaded counts: a class that extends String, as ioredis declares one, takes
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
}

const CALLS_PER_RUN = 200_000;
/** With one failure among this many successes probabilities stay where they are, and above 0. */
const FAILURE_EVERY = 997;

/** All have 20 bytes. `random` keys look like `9f86d081884c7d659a2f`. */
function keysOf(kind: DecisionPlan['keys']): readonly string[] {
  const random = createSeededRandom('bench/fair');
  return Array.from({ length: kind === 'many' ? 100_000 : 1_000 }, (_, index) =>
    kind === 'random'
      ? Buffer.from(random.bytes(10)).toString('hex')
      : Buffer.from(`tenant-${String(index).padStart(13, '0')}`).toString(),
  );
}

function trackerRun({ calls }: DecisionPlan, keys: readonly string[]): () => Promise<void> {
  const tracker = createFairTracker();
  for (const key of keys) tracker.report(key, 'failure', { cost: 5 }); // cells at 0 would decay for free
  return async () => {
    for (let call = 0; call < CALLS_PER_RUN; call += 1) {
      const key = keys[call % keys.length] ?? '';
      if (calls !== 'report') tracker.register(key);
      const outcome = call % FAILURE_EVERY === 0 ? 'failure' : 'success';
      if (calls !== 'register') tracker.report(key, outcome);
    }
  };
}

function limiterRun(keys: readonly string[]): () => Promise<void> {
  const limiter = new RateLimiterMemory({ points: 1e9, duration: 3600 });
  return async () => {
    for (let call = 0; call < CALLS_PER_RUN; call += 1) {
      await limiter.consume(keys[call % keys.length] ?? '');
    }
  };
}

async function serve(plan: DecisionPlan): Promise<void> {
  if (plan.withIoredis) await import('ioredis');
  const keys = keysOf(plan.keys);
  const run = plan.contestant === 'tracker' ? trackerRun(plan, keys) : limiterRun(keys);
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
