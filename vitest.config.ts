// One configuration, four projects by file name: `unit` (examples and properties), `sim` (many nodes
// under a simulated world), `int` (sockets, disk, processes) and `int-alone` (servers under load).
//
// Only the test files themselves go through vite. What they import from the packages is the build, which the global
// setup brings up to date first: vite's module runner turns every use of an import into a property access, which makes
// simulations a quarter slower.
//
// What needs no real world runs first, on all cores. Integration files often wait (one of them for a full minute), so
// four run at once. Those that put a server under load then run one at a time, so that a busy core or a slow disk does
// not fail the neighbour.
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { defineConfig, type Plugin, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const roots = ['packages/*/src', 'scripts', 'bench', 'e2e', 'examples'];
// Not `import`: it would reach Node itself, where `require` would then load modules made for `import`.
const conditions = ['node'];

/** Resolves what a test imports from its own package to the build. Other packages are imported by name. */
const ownPackageFromBuild: Plugin = {
  name: 'own-package-from-build',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !/^\.{1,2}\/.*\.js$/.test(source)) return undefined;
    const [, folder, path] =
      /^(.*\/packages\/[^/]+)\/src\/(.*)\.js$/.exec(resolve(dirname(importer), source)) ?? [];
    const built = `${folder}/dist/${path}.js`;
    // The page of the dashboard is built into one file, and the module of a deleted source may still be there.
    return existsSync(`${folder}/src/${path}.ts`) && existsSync(built) ? built : undefined;
  },
};

/** How many random schedules compare shared trackers with a single one. */
const fairSchedules = Number(process.env['FAIR_SCHEDULES'] ?? 100);
/** How many mutated pipelines compare the RESP parser with a plain one. */
const setsFuzzInputs = Number(process.env['SETS_FUZZ_INPUTS'] ?? 50_000);
/** How many sequences of commands compare our sets with redis-server. */
const setsSequences = Number(process.env['SETS_SEQUENCES'] ?? 300);
/** How many lives of a node, eight crashes each, are compared with a model of the sets. */
const setsCrashSeeds = Number(process.env['SETS_CRASH_SEEDS'] ?? 25);

/** How many stores of jobs, five crashes each, are compared with what they have said. */
const jobsCrashSeeds = Number(process.env['JOBS_CRASH_SEEDS'] ?? 12);

/** How many processes write one job in Firestore at once. */
const jobsContenders = Number(process.env['JOBS_CONTENDERS'] ?? 5);

/**
 * How many random histories the stores of jobs run together: three fifths embedded under faults, a fifth in memory, a
 * tenth embedded without faults, a tenth over gRPC. Firestore and PostgreSQL run another tenth each.
 */
const jobsHistories = Number(process.env['JOBS_HISTORIES'] ?? 200);

/** How often a server of jobs is killed under load. */
const jobsKills = Number(process.env['JOBS_KILLS'] ?? 20);

/** How often PostgreSQL is killed under jobs. */
const jobsPostgresKills = Number(process.env['JOBS_POSTGRES_KILLS'] ?? 3);

/** How often a server of sets is killed under load, in each class of durability. */
const setsKills = Number(process.env['SETS_KILLS'] ?? 10);

/** How many faults strike a cluster of sets under load. */
const setsClusterRounds = Number(process.env['SETS_CLUSTER_ROUNDS'] ?? 6);

/** How many single crashes of each reference pipeline are tried, at most; with `Infinity` all of them. */
const streamsCrashStates = Number(process.env['STREAMS_CRASH_STATES'] ?? 360);

/** How often a real pipeline is killed, over all sources and sinks. */
const streamsKills = Number(process.env['STREAMS_KILLS'] ?? 100);

/** A file that keeps count of the kills, so that a long run can be continued. */
const streamsKillsLog = process.env['STREAMS_KILLS_LOG'] ?? '';

/** In how many bytes of each file, at most, a checkpoint directory is damaged. */
const streamsDamageTrials = Number(process.env['STREAMS_DAMAGE_TRIALS'] ?? 6);

/** Up to how many differences the cost curve of reconciliation is measured: 1,000, or up to 100,000. */
const ribltDifferencesMax = Number(process.env['RIBLT_DIFFERENCES_MAX'] ?? 1_000);

/** Tasks of the job whose grid is drawn under constant change, each with ten tags. */
const dashboardTasks = Number(process.env['DASHBOARD_TASKS'] ?? 300);

const endingIn = (suffix: string) => roots.map((root) => `${root}/**/*${suffix}`);

type ProjectOptions = NonNullable<TestProjectInlineConfiguration['test']>;

function project(name: string, options: ProjectOptions): TestProjectInlineConfiguration {
  return {
    plugins: [ownPackageFromBuild],
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
      retry: 0,
      provide: {
        fairSchedules,
        setsFuzzInputs,
        setsSequences,
        setsCrashSeeds,
        setsKills,
        setsClusterRounds,
        jobsContenders,
        jobsCrashSeeds,
        jobsHistories,
        jobsKills,
        jobsPostgresKills,
        ribltDifferencesMax,
        dashboardTasks,
        streamsCrashStates,
        streamsKills,
        streamsKillsLog,
        streamsDamageTrials,
      },
      ...options,
    },
  };
}

const integration: ProjectOptions = {
  // Only against tests that hang: on a busy machine some of them wait ten times as long as on an idle one.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
  // Reloading the modules for each file would take as long as the tests themselves.
  isolate: false,
  restoreMocks: true,
};

/** They take longest. Without results of an earlier run vitest begins with the largest files, and these are small. */
const longFiles = [
  'e2e/jobs-killed.int.test.ts',
  'e2e/jobs-unread-answers.int.test.ts',
  'e2e/packages-installed.int.test.ts',
  'e2e/sets-killed.int.test.ts',
  'packages/jobs/src/firestore/firestore-conformance.int.test.ts',
  'packages/jobs/src/postgres/postgres-conformance.int.test.ts',
  'packages/server/src/slices/jobs/remote-conformance.int.test.ts',
  'packages/streams/src/sigkill.int.test.ts',
  'packages/testkit/src/sets-cluster/sets-cluster.sim.test.ts',
  'scripts/documents/document-programs.int.test.ts',
];

/** Begins with the long files, so that none of them runs alone at the end of its project. */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      longFiles.some((file) => moduleId.endsWith(`/${file}`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** They load or starve a server and watch how long others wait. */
const aloneFiles = [
  'e2e/{fair,jobs,sets}-hostile-clients.int.test.ts',
  'e2e/sets-loop-holds.int.test.ts',
];

export default defineConfig({
  test: {
    globalSetup: 'scripts/test/build-programs.mjs',
    // The default leaves one core free: of two that would be half the machine.
    maxWorkers: '100%',
    // A source that several projects use is transformed once. The cache is keyed by content, so it is never stale.
    experimental: { fsModuleCache: true, fsModuleCachePath: '.cache/modules' },
    sequence: { sequencer: LongFilesFirst },
    projects: [
      project('unit', {
        include: endingIn('.test.ts'),
        exclude: [...endingIn('.sim.test.ts'), ...endingIn('.int.test.ts')],
        // Sources do nothing on import and keep no state in modules, so files can share a worker.
        isolate: false,
        testTimeout: 60_000,
        sequence: { groupOrder: 0 },
      }),
      project('sim', {
        include: endingIn('.sim.test.ts'),
        isolate: false, // as above
        testTimeout: 120_000,
        sequence: { groupOrder: 0 },
      }),
      project('int', {
        ...integration,
        include: endingIn('.int.test.ts'),
        exclude: aloneFiles,
        maxWorkers: 4,
        sequence: { groupOrder: 1 },
      }),
      project('int-alone', {
        ...integration,
        include: aloneFiles,
        fileParallelism: false,
        sequence: { groupOrder: 2 },
      }),
    ],
  },
});
