// A noisy neighbor is throttled, and the quiet tenants get their share: two minutes, simulated in a moment.
//
//   npm run example -- fair-local
import { createFairTracker } from '@syncline/fair';
import { Simulation } from '@syncline/kernel/testing';

const CAPACITY_PER_SECOND = 10;
const SECONDS = 120;
/** Requests per second of each tenant. The quiet ones together need less than the capacity. */
const demand = { noisy: 50, quiet1: 2, quiet2: 2, quiet3: 2 };
type Tenant = keyof typeof demand;

/** Runs the same traffic, with or without fair throttling, and returns how many requests of each were served. */
async function serve(isFair: boolean): Promise<Record<Tenant, number>> {
  const simulation = new Simulation({ seed: 1 });
  const { clock } = simulation;
  const random = simulation.random.fork('tenants');
  const tracker = createFairTracker({ policy: 'linear' }, { clock, random });
  const served = { noisy: 0, quiet1: 0, quiet2: 0, quiet3: 0 };
  await simulation.run(async () => {
    for (let second = 0; second < SECONDS; second += 1) {
      let left = CAPACITY_PER_SECOND;
      for (const tenant of shuffledRequests(() => random.float())) {
        if (isFair && tracker.register(tenant).throttled) continue;
        const isServed = left > 0;
        if (isServed) served[tenant] += 1;
        tracker.report(tenant, isServed ? 'success' : 'failure');
        left -= 1;
      }
      await clock.sleep(1000);
    }
  });
  return served;
}

/** The requests of one second, in random order. */
function shuffledRequests(float: () => number): Tenant[] {
  const tenants = Object.keys(demand) as Tenant[];
  return tenants
    .flatMap((tenant) => Array.from({ length: demand[tenant] }, () => ({ tenant, at: float() })))
    .sort((left, right) => left.at - right.at)
    .map(({ tenant }) => tenant);
}

const without = await serve(false);
const fair = await serve(true);
process.stdout.write('served per second, of a capacity of 10\n');
process.stdout.write('tenant   wants  without  with fair throttling\n');
for (const [tenant, wanted] of Object.entries(demand)) {
  const rate = (served: Record<Tenant, number>) => (served[tenant as Tenant] / SECONDS).toFixed(1);
  process.stdout.write(
    `${tenant.padEnd(7)}  ${String(wanted).padStart(5)}  ${rate(without).padStart(7)}  ${rate(fair).padStart(20)}\n`,
  );
}
