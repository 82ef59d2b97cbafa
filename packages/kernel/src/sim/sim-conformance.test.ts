// The simulated ports satisfy the same contracts as the real ones: every suite runs inside a simulation, under
// a few seeds.
import { describe, test } from 'vitest';
import { clockSuite } from '../conformance/clock-suite.js';
import type { ConformanceCase } from '../conformance/conformance-case.js';
import { filesSuite } from '../conformance/files-suite.js';
import { networkSuite } from '../conformance/network-suite.js';
import { randomSuite } from '../conformance/random-suite.js';
import { storageSuite } from '../conformance/storage-suite.js';
import { kernelLimits } from '../limits.js';
import { runInSimulation, type SimulatedBody } from './run-in-simulation.js';

const SEEDS = [1, 2];

/** The cases of a suite, whose subjects are built from the simulation that a case runs in. */
type SuiteOf = (world: () => SimulatedBody) => readonly ConformanceCase[];

function runSuite(name: string, suiteOf: SuiteOf): void {
  describe(name, () => {
    let current: SimulatedBody | undefined;
    const suite = suiteOf(() => {
      if (current === undefined) throw new Error('a case runs inside a simulation');
      return current;
    });
    for (const { name: caseName, run } of suite) {
      test.each(SEEDS)(`${caseName} (seed %i)`, (seed) =>
        runInSimulation(seed, async (world) => {
          current = world;
          await run();
        }),
      );
    }
  });
}

const nothingToClose = { async [Symbol.asyncDispose]() {} };

runSuite('simulated clock', (world) =>
  clockSuite(async () => ({ clock: world().clock, ...nothingToClose })),
);
runSuite('simulated random', (world) =>
  randomSuite(async () => {
    const { random } = world();
    return { random: random.fork('one'), other: random.fork('other'), ...nothingToClose };
  }),
);
runSuite('simulated network', (world) =>
  networkSuite(async () => ({
    network: world().network,
    clock: world().clock,
    host: '127.0.0.1',
    highWaterBytes: kernelLimits.connectionHighWaterBytes.value,
    transitBytesMax: 128 * 1024, // twice the window of a pipe
    ...nothingToClose,
  })),
);
runSuite('simulated files', (world) =>
  filesSuite(
    async () => ({
      files: world().files,
      fillDisk: async () => world().node.disk.adjust({ isFull: true }),
      freeDisk: async () => world().node.disk.adjust({ isFull: false }),
      breakDisk: async () => world().node.disk.adjust({ syncFailureProbability: 1 }),
      ...nothingToClose,
    }),
    { canFillDisk: true, canBreakDisk: true },
  ),
);
runSuite('simulated storage', (world) =>
  storageSuite(
    async () => {
      const { disk } = world().node;
      const storage = await world().openStorage('store');
      return {
        storage,
        reopen: () => world().openStorage('store'),
        fillDisk: async () => disk.adjust({ isFull: true }),
        freeDisk: async () => disk.adjust({ isFull: false }),
        breakDisk: async () => disk.adjust({ syncFailureProbability: 1 }),
        [Symbol.asyncDispose]: () => storage.close(),
      };
    },
    { isPersistent: true, canFillDisk: true, canBreakDisk: true },
  ),
);
