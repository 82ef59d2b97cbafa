// The contestants of the propagation benches: trackers that share a state service, and plain Redis clients
// that count with HINCRBYFLOAT and notify each other with PUBLISH.
//
// A change is a failure of one of many flows. Each flow has its own cell on level 0, so that the cells of a
// message identify its flows.
import type { FairTracker, SyncResponse } from '@syncline/fair';
import { grpcRemote } from '@syncline/fair/grpc';
import { startRedis } from '@syncline/testkit';
import type { Contestant } from './bench.js';
import { type Fleet, openFleet } from './fair-fleet.js';
import { connectRedis, redisVersion } from './fair-redis-peer.js';
import { type StateServerOptions, startStateServer } from './fair-state-server.js';

export const CLIENTS = 8;
export const FLOWS = 500;
/** A failure counts in two structures, each with a message of its own. */
export const MESSAGES_PER_CHANGE = 2;
/** A day: when the window changes, so do the cells of all flows, and a run would never finish. */
const WINDOW_MS = 86_400_000;

export interface PropagationSubject {
  /** Called before each run. `onReceived` is called with what a client, the sender included, has received. */
  begin(onReceived: (client: number, flow: number) => void): void;
  tell(client: number, flow: number): void;
}

export function trackersContestant(
  name: string,
  options: StateServerOptions = {},
): Contestant<PropagationSubject> {
  return {
    name,
    async open() {
      const server = await startStateServer(options);
      let onTaken: (client: number, response: SyncResponse) => void = () => {};
      const fleet = await openFleet({
        count: CLIENTS,
        remote: grpcRemote({ address: server.address, tracker: 'bench' }),
        flushIntervalMs: 0,
        windowMs: WINDOW_MS,
        onTaken: (client, response) => onTaken(client, response),
      });
      let keys: readonly string[] = [];
      return {
        begin(onReceived) {
          const [first] = fleet.trackers;
          if (first === undefined) return;
          const flows = flowsByColumn(first);
          const seed = BigInt(first.status().seeds.main);
          keys = [...flows.values()].map(({ key }) => key);
          onTaken = (client, { seed: seedOfCells, cells, isSnapshot }) => {
            if (isSnapshot || seedOfCells !== seed) return;
            for (let index = 0; index < cells.count; index += 1) {
              const flow =
                cells.rows[index] === 0 ? flows.get(cells.columns[index] ?? 0) : undefined;
              if (flow !== undefined) onReceived(client, flow.index);
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

export const publishContestant: Contestant<PropagationSubject> = {
  name: 'HINCRBYFLOAT and PUBLISH',
  ...(redisVersion !== undefined && { version: redisVersion }),
  async open() {
    const redis = await startRedis();
    const writers = await connectRedis(redis.port, CLIENTS);
    const readers = await connectRedis(redis.port, CLIENTS);
    let onReceived: (client: number, flow: number) => void = () => {};
    const structures = ['main', 'secondary'];
    for (const [client, reader] of readers.entries()) {
      reader.on('message', (structure: string, message: string) => {
        if (structure === 'main') onReceived(client, Number(message));
      });
      await reader.subscribe(...structures);
    }
    return {
      begin(listener) {
        onReceived = listener;
      },
      tell(client, flow) {
        const pipeline = writers[client]?.pipeline();
        for (const structure of structures)
          pipeline?.hincrbyfloat(structure, `${flow}:prob`, 0.04).publish(structure, String(flow));
        void pipeline?.exec();
      },
      async [Symbol.asyncDispose]() {
        for (const connection of [...writers, ...readers]) connection.disconnect();
        await redis[Symbol.asyncDispose]();
      },
    };
  },
};

/** Flows that do not share a cell on level 0. */
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
