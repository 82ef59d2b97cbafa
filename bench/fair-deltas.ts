// Fair: how many cell changes per second a state service accepts from 8 clients, and Redis through our script,
// compared with the same changes as pipelined HINCRBYFLOAT.
import type { AnyBench, Contestant } from './bench.js';
import { CLIENTS, createBatches } from './fair-delta-batches.js';
import {
  type DeltaSubject,
  incrementContestant,
  redisStoreContestant,
  stateServiceContestant,
} from './fair-delta-contestants.js';
import { defineBench } from './measure.js';

/** The most that one call of the script accepts. */
const BATCH_SIZE = 500;

interface Load {
  readonly batchSize: number;
  /** Batches per client in a run. */
  readonly batches: number;
}

const BATCHED: Load = { batchSize: BATCH_SIZE, batches: 20 };
const SINGLY: Load = { batchSize: 1, batches: 500 };

function benchOf(
  name: string,
  { batchSize, batches }: Load,
  contestants: readonly [Contestant<DeltaSubject>, ...Contestant<DeltaSubject>[]],
): AnyBench {
  const load = createBatches(batches, batchSize);
  return defineBench<DeltaSubject>({
    name,
    unit: 'deltas/s',
    about: `${CLIENTS} clients change 3,000 cells, ${batchSize} per message, one message in flight each`,
    contestants,
    async run(subject) {
      const sendAll = async (client: number) => {
        for (const batch of load[client] ?? []) await subject.send(client, batch);
      };
      await Promise.all(load.map((_, client) => sendAll(client)));
      return CLIENTS * batches * batchSize;
    },
  });
}

export const fairDeltaBenches: readonly AnyBench[] = [
  benchOf('fair-service-deltas', BATCHED, [
    stateServiceContestant,
    incrementContestant,
    redisStoreContestant,
  ]),
  benchOf('fair-service-deltas-singly', SINGLY, [
    stateServiceContestant,
    incrementContestant,
    redisStoreContestant,
  ]),
  benchOf('fair-redis-deltas', BATCHED, [redisStoreContestant, incrementContestant]),
];
