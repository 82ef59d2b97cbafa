// Fair: the cost of a decision per request, compared with a rate limiter that also keeps its counts in memory.
//
// The limiter counts one number per key and answers with a promise; the tracker finds the key's cells and works on 3
// of them (`register`) or 6 (`report`), however many keys there are. `report` reads the clock, `register` only where
// a request may be refused.
//
// The tracker caches where the cells of 4,096 keys lie, so 1,000 keys are its best case. With 100,000 keys none is
// still cached when its turn comes again, and each `register` hashes.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import type { AnyBench, Contestant } from './bench.js';
import { DECISION_PROGRAM, type DecisionPlan } from './fair-decision-process.js';
import { defineBench } from './measure.js';

const { version: limiterVersion } = createRequire(import.meta.url)(
  'rate-limiter-flexible/package.json',
) as { readonly version: string };

interface DecisionSubject {
  /** Processor time per request, in ns. */
  measureNs(): Promise<number>;
}

function contestantOf(plan: DecisionPlan): Contestant<DecisionSubject> {
  const isOurs = plan.contestant === 'tracker';
  return {
    name: isOurs ? plan.calls : 'rate-limiter-flexible',
    ...(!isOurs && { version: limiterVersion }),
    async open() {
      const child = fork(DECISION_PROGRAM, [JSON.stringify(plan)]);
      return {
        async measureNs() {
          child.send('run');
          const [answer] = (await Promise.race([
            once(child, 'message'),
            once(child, 'exit').then(([code]) => {
              throw new Error(`the process of ${plan.contestant} ended with ${code}`);
            }),
          ])) as [number];
          return answer;
        },
        async [Symbol.asyncDispose]() {
          child.kill();
        },
      };
    },
  };
}

export const fairBenches: readonly AnyBench[] = [
  benchOf('fair-decision', {}),
  benchOf('fair-decision-ioredis', { withIoredis: true }),
  benchOf('fair-decision-refusing', { isRefusing: true }),
  benchOf('fair-decision-random-keys', { keys: 'random' }),
  benchOf('fair-decision-many-keys', { keys: 'many' }),
  benchOf('fair-decision-many-keys-ioredis', { keys: 'many', withIoredis: true }),
  benchOf('fair-register', { calls: 'register' }),
  benchOf('fair-report', { calls: 'report' }),
];

function benchOf(name: string, changes: Partial<Omit<DecisionPlan, 'contestant'>>): AnyBench {
  const { calls = 'register and report', keys = 'numbered' } = changes;
  const { withIoredis = false, isRefusing = false } = changes;
  const plan = { calls, keys, withIoredis, isRefusing };
  const count = keys === 'many' ? '100,000' : keys === 'random' ? '1,000 random' : '1,000';
  return defineBench<DecisionSubject>({
    name,
    better: 'less',
    unit: 'ns',
    about: `processor time of ${calls} with ${count} keys of 20 bytes${withIoredis ? ' and ioredis loaded' : ''}${isRefusing ? ', a fifth refused' : ''}, against one consume in memory`,
    contestants: [
      contestantOf({ ...plan, contestant: 'tracker' }),
      contestantOf({ ...plan, contestant: 'limiter' }),
    ],
    run: (subject) => subject.measureNs(),
  });
}
