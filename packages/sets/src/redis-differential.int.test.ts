// `SETS_SEQUENCES=10000 npx vitest run --project int packages/sets/src/redis-differential` runs many more.
import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { startRedis } from '@syncline/testkit';
import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { openSets } from './open-sets.js';
import type { Sets } from './sets.js';
import { compareAll, compareStep, type Difference } from './testing/differential/comparison.js';
import { askServer, askSets, type RespAsker } from './testing/differential/resp-asker.js';
import { type Step, setNames, steps } from './testing/differential/steps.js';

const SEQUENCES = inject('setsSequences');

interface Plan {
  readonly protocol: 2 | 3;
  /** With no room for whole sets, commands go through views after a restart. */
  readonly cacheBytesMax: number;
  readonly sequence: readonly Step[];
}

const protocol = fc.constantFrom(2 as const, 3 as const);
const plans: fc.Arbitrary<Plan> = fc.oneof(
  fc.record({ protocol, cacheBytesMax: fc.constant(256 * 1024 * 1024), sequence: steps }),
  // What a transaction walks must fit into memory.
  fc.record({
    protocol,
    cacheBytesMax: fc.constant(1),
    sequence: steps.map((all) => all.filter(({ kind }) => kind !== 'transaction')),
  }),
);

test('S13 sequences of commands are answered as redis-server answers them', {
  timeout: 30_000 + SEQUENCES * 100,
}, async () => {
  // Whole numbers are kept as any other member here.
  await using redis = await startRedis('--set-max-intset-entries', '0');
  const theirs = await askServer(redis.port);
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      await theirs.ask([['FLUSHALL'], ['HELLO', String(plan.protocol)]]);
      expect(await runPlan(plan, theirs)).toBeUndefined();
    }),
    { numRuns: SEQUENCES, verbose: true },
  );
  theirs.close();
});

async function runPlan(
  { protocol, cacheBytesMax, sequence }: Plan,
  theirs: RespAsker,
): Promise<Difference | undefined> {
  const node = new RestartingNode(cacheBytesMax, protocol);
  let ours = await node.start();
  try {
    for (const step of sequence) {
      if (step.kind === 'restart') {
        ours = await node.restart();
        continue;
      }
      const difference = await compareStep(step, { ours, theirs });
      if (difference !== undefined) return difference;
    }
    return await compareAll(setNames, { ours, theirs });
  } finally {
    await node.stop();
  }
}

class RestartingNode {
  readonly #storage = createMemoryStorage();
  readonly #cacheBytesMax: number;
  readonly #protocol: 2 | 3;
  #sets: Sets | undefined;
  #asker: RespAsker | undefined;

  constructor(cacheBytesMax: number, protocol: 2 | 3) {
    this.#cacheBytesMax = cacheBytesMax;
    this.#protocol = protocol;
  }

  async start(): Promise<RespAsker> {
    this.#sets = await openSets(
      {
        storage: this.#storage,
        clock: createSystemClock(),
        random: createSystemRandom(),
        logger: silentLogger,
        metrics: silentMetrics,
      },
      { nodeId: 1, clusterId: 'differential', cacheBytesMax: this.#cacheBytesMax },
    );
    this.#asker = askSets(this.#sets);
    await this.#asker.ask([['HELLO', String(this.#protocol)]]);
    return this.#asker;
  }

  async stop(): Promise<void> {
    this.#asker?.close();
    await this.#sets?.close();
  }

  async restart(): Promise<RespAsker> {
    await this.stop();
    return this.start();
  }
}

declare module 'vitest' {
  interface ProvidedContext {
    /** Sequences of commands that are compared with redis-server. */
    readonly setsSequences: number;
  }
}
