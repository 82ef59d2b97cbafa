// The checkers work: stores with one bug each are caught within a few random histories, and the same histories pass
// without the bug.
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import type { History } from '../../job-store.js';
import type { JobStoreSuiteOptions } from '../job-store-subject.js';
import { createReferenceJobStore } from '../reference/reference-store.js';
import { historyCases, runSeed } from './history-cases.js';
import { type PlantedBug, plantBug } from './planted-bugs.js';

const SEEDS = 12;

interface Planted {
  readonly bug?: PlantedBug | undefined;
  /** The capabilities that the store declares. */
  readonly history?: History;
}

function optionsIn(
  world: SimulatedBody,
  { bug, history = 'all' }: Planted,
): JobStoreSuiteOptions<never> {
  const { clock } = world;
  const capabilities = { ...createReferenceJobStore().capabilities, history };
  return {
    name: 'planted',
    capabilities,
    time: 'simulated',
    histories: SEEDS,
    create: async () => {
      const plain = createReferenceJobStore({ clock });
      const store = bug ? plantBug(plain, bug) : plain;
      return { store, clock, [Symbol.asyncDispose]: () => plain.close() } as never;
    },
  };
}

/** The problems found in as many seeds as it takes to find the expected one. */
async function problemsWith(
  planted: Planted,
  isLookedFor: (problem: string) => boolean,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (let seed = 0; seed < SEEDS && !problems.some(isLookedFor); seed += 1)
    await runInSimulation(seed, async (world) => {
      problems.push(...(await runSeed(optionsIn(world, planted), `planted-${seed}`)).problems);
    });
  return problems;
}

describe('a store with a bug is caught', () => {
  const planted: readonly (readonly [string, PlantedBug])[] = [
    ['J5 Ordered', 'replay out of order'],
    ['J6 Unique', 'resume repeats a change'],
    ['J7 Reliable', 'every fifth change is dropped'],
    ['J8 Atomic', 'a state is mixed of two writes'],
    ['J9 Resumable', 'resume begins one change too late'],
    ['J10 Bookmarkable', 'live comes before its change'],
    ['J16 Genuine', 'unwritten cells are made up'],
  ];
  test.each(planted)('%s finds: %s', async (checker, bug) => {
    const isFound = (problem: string) => problem.startsWith(`${checker}:`);
    expect((await problemsWith({ bug }, isFound)).filter(isFound)).not.toEqual([]);
  });

  test('J8 Atomic finds a write that was never sent', async () => {
    const isFound = (problem: string) =>
      /^J8 Atomic: .* is a write that was never made$/.test(problem);
    const ghostly = { bug: 'the store writes by itself' } as const;
    expect((await problemsWith(ghostly, isFound)).filter(isFound)).not.toEqual([]);
  });

  test('J1 a version that no one saw is found where streams need not show all', async () => {
    const isFound = (problem: string) => /^J1: version \d+ of .* comes at/.test(problem);
    const ghostly = { bug: 'the store writes by itself', history: 'latest' } as const;
    expect((await problemsWith(ghostly, isFound)).filter(isFound)).not.toEqual([]);
  });

  test.each(['all', 'latest'] as const)(
    'J1 J5 J6 J7 J8 J9 J10 J16 the same histories pass without a bug, history %s',
    async (history) => {
      expect(await problemsWith({ history }, () => true)).toEqual([]);
    },
  );

  test('a failure reports the seed, a smaller plan, and the stream', async () => {
    const failures: string[] = [];
    for (let index = 0; index < SEEDS && failures.length === 0; index += 1)
      await runInSimulation(index, async (world) => {
        const cases = historyCases(optionsIn(world, { bug: 'every fifth change is dropped' }));
        await cases[index]?.run().catch((error: Error) => failures.push(error.message));
      });
    expect(failures[0]).toMatch(/^the history of seed planted-\d+ fails:\n {2}J7/);
    expect(failures[0]).toContain('synced');
    const { actors } = JSON.parse(/^plan: (.*)$/m.exec(failures[0] ?? '')?.[1] ?? '{}');
    expect(actors.length).toBeLessThanOrEqual(3);
  });
});
