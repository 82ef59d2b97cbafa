// Sets: commands per second, as redis-benchmark with 50 connections counts them, compared with a redis-server with
// the same durability.
//
// SADD of the same member over and over is our worst case: each time it gets a new dot, which must be stored, while
// Redis has nothing to do.
import type { AnyBench, Contestant } from './bench.js';
import { defineBench } from './measure.js';
import { fillSet, RANDOM_MEMBER, runBenchmark } from './sets-benchmark.js';
import { redisContestant, type SetsServer, synclineContestant } from './sets-servers.js';

const COUNTS = { 1: 50_000, 16: 300_000 } as const;
const STEADY_COUNT = 3_000_000;
const MEMBERS = 1_000_000;

interface RateOptions {
  readonly name: string;
  readonly about: string;
  readonly pipeline: 1 | 16;
  readonly words: (round: number) => readonly string[];
  readonly count?: number;
  readonly isLong?: boolean;
  readonly prepare?: (server: SetsServer) => Promise<void>;
}

function rateBench(options: RateOptions): AnyBench {
  const { name, pipeline, words, count = COUNTS[pipeline] } = options;
  return defineBench<SetsServer>({
    name,
    unit: 'commands/s',
    about: `${options.about}; 50 connections, ${pipeline} in a pipeline, ${count} commands`,
    contestants: [synclineContestant, redisContestant],
    isLong: options.isLong ?? false,
    ...(options.prepare && { prepare: options.prepare }),
    async run({ port }, round) {
      await runBenchmark({ port, count, pipeline, words: words(round) });
      return count;
    },
  });
}

const addRandom = (round: number) => ['sadd', `set:${round}`, RANDOM_MEMBER];
const addSame = () => ['sadd', 'set', 'element:000000000000'];
const askRandom = () => ['sismember', 'set', RANDOM_MEMBER];
const fill = ({ port }: SetsServer) => fillSet(port, 'set', MEMBERS);
/** The rate for a large set relative to that for a small one, on one server. */
function growthBench(name: string, server: Contestant<SetsServer>): AnyBench {
  const ofSize = (members: number): Contestant<SetsServer> => ({
    name: `${members} members`,
    async open() {
      const opened = await server.open();
      await fillSet(opened.port, 'set', members);
      return opened;
    },
  });
  return defineBench<SetsServer>({
    name,
    unit: 'commands/s',
    about: `SADD to a set of ${MEMBERS} members and to one of 1000 in ${server.name}, ${COUNTS[16]} commands, 16 in a pipeline`,
    contestants: [ofSize(MEMBERS), ofSize(1_000)],
    isLong: true,
    async run({ port }, round) {
      const key = round === 0 ? 'warm-up' : 'set';
      await runBenchmark({
        port,
        count: COUNTS[16],
        pipeline: 16,
        words: ['sadd', key, RANDOM_MEMBER],
      });
      return COUNTS[16];
    },
  });
}

export const setsBenches: readonly AnyBench[] = [
  rateBench({ name: 'sets-sadd', about: 'SADD of random members', pipeline: 1, words: addRandom }),
  rateBench({
    name: 'sets-sadd-pipelined',
    about: 'SADD of random members',
    pipeline: 16,
    words: addRandom,
  }),
  rateBench({
    name: 'sets-sadd-same-pipelined',
    about: 'SADD of one member again and again',
    pipeline: 16,
    words: addSame,
  }),
  rateBench({
    name: 'sets-sismember-pipelined',
    about: `SISMEMBER of a set of ${MEMBERS} in memory`,
    pipeline: 16,
    words: askRandom,
    prepare: fill,
  }),
  rateBench({
    name: 'sets-sismember',
    about: `SISMEMBER of a set of ${MEMBERS} in memory`,
    pipeline: 1,
    words: askRandom,
    prepare: fill,
    isLong: true,
  }),
  rateBench({
    name: 'sets-sadd-steady',
    about: 'SADD of random members, long enough to include checkpoints',
    pipeline: 16,
    count: STEADY_COUNT,
    words: addRandom,
    isLong: true,
  }),
  growthBench('sets-sadd-growth', synclineContestant),
  growthBench('sets-sadd-growth-redis', redisContestant),
];
