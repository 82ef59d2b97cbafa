// Fair: how many commands a request costs Redis. Instances collect outcomes for 100 ms and send one call per
// structure, so the more requests there are, the fewer commands each of them costs.
import { setTimeout as afterMs } from 'node:timers/promises';
import { redisRemote } from '@syncline/fair/redis';
import { startRedis } from '@syncline/testkit';
import { Redis } from 'ioredis';
import type { AnyBench, Contestant } from './bench.js';
import { openFleet } from './fair-fleet.js';
import { defineBench } from './measure.js';
import { atPace } from './pace.js';

const INSTANCES = 8;
const REQUESTS = { perSecond: 4_000, count: 4_000 };
const FLUSH_MS = 100;

interface CommandsSubject {
  request(index: number): void;
  commandsCount(): number;
}

const trackersOnRedis: Contestant<CommandsSubject> = {
  name: 'trackers on Redis',
  async open() {
    const redis = await startRedis();
    let commandsCount = 0;
    class CountedRedis extends Redis {
      override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
        commandsCount += 1;
        return super.sendCommand(...args);
      }
    }
    const { url } = redis;
    const client = (settings: object) => new CountedRedis(url, settings);
    const remote = redisRemote({ client, tracker: 'bench' });
    const fleet = await openFleet({ count: INSTANCES, remote });
    return {
      request(index) {
        const tracker = fleet.trackers[index % INSTANCES];
        const key = `tenant-${index % 1_000}`;
        if (tracker?.register(key).throttled === false)
          tracker.report(key, index % 4 === 0 ? 'failure' : 'success');
      },
      commandsCount: () => commandsCount,
      async [Symbol.asyncDispose]() {
        await fleet[Symbol.asyncDispose]();
        await redis[Symbol.asyncDispose]();
      },
    };
  },
};

export const fairCommandsBench: AnyBench = defineBench<CommandsSubject>({
  name: 'fair-redis-commands',
  unit: 'commands per request',
  better: 'less',
  about: `${REQUESTS.perSecond} requests/s (register and report) at ${INSTANCES} instances`,
  contestants: [trackersOnRedis],
  bound: { name: 'at most', value: 0.1 },
  async run(subject) {
    const before = subject.commandsCount();
    await atPace(REQUESTS, (index) => subject.request(index));
    await afterMs(FLUSH_MS); // the last of them are sent
    return (subject.commandsCount() - before) / REQUESTS.count;
  },
});
