// Three instances share what they learn through a state service: a caller that was noisy at two of them is known to
// the third, which has never seen it. Then the service stops, and decisions continue.
//
//   npm run example -- fair-remote
import { setTimeout as sleep } from 'node:timers/promises';
import { createFairTracker, type FairTracker } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { startSyncline } from './server/start-syncline.js';

const DEADLINE_MS = 10_000;
const secret = 'the same bytes on every instance';

async function until(what: string, isTrue: () => boolean): Promise<void> {
  const startedAt = performance.now();
  while (!isTrue()) {
    if (performance.now() - startedAt > DEADLINE_MS) throw new Error(`not ${what} in time`);
    await sleep(10);
  }
}

function show(title: string, trackers: readonly FairTracker[]): void {
  const probabilities = trackers.map((tracker) => tracker.peek('noisy').probability.toFixed(2));
  process.stdout.write(`${title.padEnd(45)} ${probabilities.join('  ')}\n`);
}

const { server, portOf } = await startSyncline({ memory: 'true' });
const address = `127.0.0.1:${portOf('grpc')}`;
const trackers = [1, 2, 3].map(() =>
  createFairTracker({ remote: grpcRemote({ address, tracker: 'api' }), secret, policy: 'linear' }),
);
const [first, second, third] = trackers as [FairTracker, FairTracker, FairTracker];
await until('connected', () => trackers.every((tracker) => tracker.status().connected));
process.stdout.write(
  `${'throttling probability of "noisy" at instance'.padEnd(47)} 1     2     3\n`,
);
show('at the start', trackers);

for (let failures = 0; failures < 15; failures += 1) {
  first.report('noisy', 'failure');
  second.report('noisy', 'failure');
}
await until('shared', () => third.peek('noisy').probability > 0.9);
show('after 15 failures at 1 and 15 at 2', trackers);

await server.stop();
await until('noticed', () => trackers.every((tracker) => !tracker.status().connected));
show('the service is stopped', trackers);
for (let failures = 0; failures < 30; failures += 1) third.report('newcomer', 'failure');
const { throttled } = third.register('newcomer');
process.stdout.write(
  `instance 3 continues on its own: a new noisy caller is ${throttled ? '' : 'not '}throttled\n`,
);

for (const tracker of trackers) await tracker.close({ timeoutMs: 100 });
