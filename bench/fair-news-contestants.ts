// Who spreads news in the propagation benches: trackers that share a state service, and plain Redis clients
// that count with HINCRBYFLOAT and tell each other with PUBLISH.
//
// A piece of news is a failure of one of many flows. Each flow has a cell of level 0 to itself, so that the
// cells of a message say of which flows it tells.
import type { FairTracker, SyncResponse } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { startRedis } from '@syncline/testkit';
import type { Contestant } from './bench.js';
import { type Fleet, openFleet } from './fair-fleet.js';
import { connectRedis, redisVersion } from './fair-redis-peer.js';
import { type StateServerOptions, startStateServer } from './fair-state-server.js';

export const CLIENTS = 8;
export const FLOWS = 500;

export interface NewsSubject {
  /** Before each run. `onHeard` is called with what a client, the sender included, has taken in. */
  begin(onHeard: (client: number, flow: number) => void): void;
  tell(client: number, flow: number): void;
}

export function trackersContestant(
  name: string,
  options: StateServerOptions = {},
): Contestant<NewsSubject> {
  return {
    name,
    async open() {
      const server = await startStateServer(options);
      let onTaken: (client: number, response: SyncResponse) => void = () => {};
      const fleet = await openFleet({
        count: CLIENTS,
        remote: grpcRemote({ address: server.address, tracker: 'bench' }),
        flushIntervalMs: 0,
        onTaken: (client, response) => onTaken(client, response),
      });
      let keys: readonly string[] = [];
      return {
        begin(onHeard) {
          const [first] = fleet.trackers;
          if (first === undefined) return;
          const flows = flowsByColumn(first); // of this window
          keys = [...flows.values()].map(({ key }) => key);
          onTaken = (client, { seed, cells, isSnapshot }) => {
            if (isSnapshot || Number(seed) !== first.status().seeds.main) return;
            for (let index = 0; index < cells.count; index += 1) {
              const flow =
                cells.rows[index] === 0 ? flows.get(cells.columns[index] ?? 0) : undefined;
              if (flow !== undefined) onHeard(client, flow.index);
            }
          };
        },
        tell(client, flow) {
          fleet.trackers[client]?.report(keys[flow] ?? '', 'failure');
        },
        [Symbol.asyncDispose]: () => dispose(fleet, server),
      };
    },
  };
}

export const publishContestant: Contestant<NewsSubject> = {
  name: 'HINCRBYFLOAT and PUBLISH',
  ...(redisVersion !== undefined && { version: redisVersion }),
  async open() {
    const redis = await startRedis();
    const writers = await connectRedis(redis.port, CLIENTS);
    const readers = await connectRedis(redis.port, CLIENTS);
    let onHeard: (client: number, flow: number) => void = () => {};
    for (const [client, reader] of readers.entries()) {
      reader.on('message', (_, message: string) => onHeard(client, Number(message)));
      await reader.subscribe('changes');
    }
    return {
      begin(listener) {
        onHeard = listener;
      },
      tell(client, flow) {
        const pipeline = writers[client]?.pipeline().hincrbyfloat('cells', `${flow}:prob`, 0.04);
        void pipeline?.publish('changes', String(flow)).exec();
      },
      async [Symbol.asyncDispose]() {
        for (const connection of [...writers, ...readers]) connection.disconnect();
        await redis[Symbol.asyncDispose]();
      },
    };
  },
};

/** Flows that share no cell of level 0. */
function flowsByColumn(
  tracker: FairTracker,
): ReadonlyMap<number, { readonly key: string; readonly index: number }> {
  const flows = new Map<number, { readonly key: string; readonly index: number }>();
  for (let attempt = 0; flows.size < FLOWS; attempt += 1) {
    const key = `flow-${attempt}`;
    const column = tracker.peek(key).levels[0]?.column ?? 0;
    if (!flows.has(column)) flows.set(column, { key, index: flows.size });
  }
  return flows;
}

async function dispose(fleet: Fleet, server: AsyncDisposable): Promise<void> {
  await fleet[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
}
