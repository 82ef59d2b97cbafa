// `npm run bench`: runs the benches and prints tables, or JSON lines. See bench-arguments.ts.
import type { AnyBench, Comparison } from './bench.js';
import { type BenchArguments, benchHelp, parseBenchArguments } from './bench-arguments.js';
import { ratioProblems, readExpectedRatios } from './expected-ratios.js';
import { fairBenches } from './fair.js';
import { fairCommandsBench } from './fair-commands.js';
import { fairConvergenceBenches } from './fair-convergence.js';
import { fairDeltaBenches } from './fair-deltas.js';
import { fairOutageBenches } from './fair-outage.js';
import { fairPropagationBenches } from './fair-propagation.js';
import { fairStalledBenches } from './fair-stalled.js';
import { jobsFanoutBenches } from './jobs-fanout.js';
import { jobsFirestoreBenches } from './jobs-firestore.js';
import { jobsLocalBenches } from './jobs-local.js';
import { jobsPostgresBenches } from './jobs-postgres.js';
import { jobsReplayBenches } from './jobs-replay.js';
import { jobsStalledBenches } from './jobs-stalled.js';
import { jobsWriteBenches } from './jobs-writes.js';
import { compare } from './measure.js';
import { benchTable, factsLines } from './report.js';
import { ribltBenches } from './riblt.js';
import { setsBenches } from './sets.js';
import { setsClusterBenches } from './sets-cluster.js';
import { setsCostBenches } from './sets-costs.js';
import { setsRejoinBenches } from './sets-rejoin.js';
import { storageBenches } from './storage.js';
import { streamsBenches } from './streams.js';
import { streamsCheckpointBenches } from './streams-checkpoints.js';
import { streamsFlinkBench } from './streams-flink.js';
import { streamsStateBenches } from './streams-state.js';
import { streamsWorkersBenches } from './streams-workers.js';

const benches: readonly AnyBench[] = [
  ...storageBenches,
  ...fairBenches,
  ...fairDeltaBenches,
  fairCommandsBench,
  ...fairPropagationBenches,
  ...fairConvergenceBenches,
  ...fairStalledBenches,
  ...fairOutageBenches,
  ...ribltBenches,
  ...setsBenches,
  ...setsCostBenches,
  ...setsClusterBenches,
  ...setsRejoinBenches,
  ...jobsWriteBenches,
  ...jobsPostgresBenches,
  ...jobsFanoutBenches,
  ...jobsFirestoreBenches,
  ...jobsLocalBenches,
  ...jobsReplayBenches,
  ...jobsStalledBenches,
  ...streamsStateBenches,
  streamsFlinkBench,
  ...streamsBenches,
  ...streamsCheckpointBenches,
  ...streamsWorkersBenches,
];

export interface BenchDeps {
  /** The commit that is measured, for the report. */
  readonly commit: string;
}

/** Returns the exit code: 0, 1 for a ratio that is not good enough, 2 for wrong usage. */
export async function runBenches(args: readonly string[], deps: BenchDeps): Promise<number> {
  const wanted = readWanted(args);
  if (typeof wanted === 'string') {
    process.stderr.write(`${wanted} See "npm run bench -- --help".\n`);
    return 2;
  }
  if (wanted.isHelp) {
    process.stdout.write(benchHelp(benches));
    return 0;
  }
  const comparisons = await measureAll(wanted, deps);
  if (!wanted.isCheck) return 0;
  const problems = ratioProblems(comparisons, await readExpectedRatios());
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length === 0) {
    process.stderr.write(`All ${comparisons.length} ratios meet bench/expected.json.\n`);
  }
  return problems.length === 0 ? 0 : 1;
}

/** With `--json` the header goes to standard error, so that standard output is JSON only. */
async function measureAll(
  { isJson, only, runs }: BenchArguments,
  { commit }: BenchDeps,
): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  const wanted = benches.filter(({ name, isLong }) =>
    only.length === 0 ? !isLong : only.includes(name),
  );
  (isJson ? process.stderr : process.stdout).write(factsLines(commit, wanted));
  for (const bench of wanted) {
    const measured = await measureIfInstalled(bench, runs);
    if (measured === undefined) continue;
    const compared = compare(bench, measured);
    comparisons.push(...compared);
    const lines = isJson
      ? compared.map((line) => JSON.stringify(line))
      : ['', benchTable(bench, measured)];
    process.stdout.write(`${lines.join('\n')}\n`);
  }
  return comparisons;
}

/** Undefined if the bench needs a program, such as a peer, that is not installed. */
async function measureIfInstalled(bench: AnyBench, runs: number) {
  try {
    return await bench.measure(runs);
  } catch (thrown) {
    const { code, syscall, path } = thrown as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || !syscall?.startsWith('spawn')) throw thrown;
    process.stderr.write(`${bench.name}: not run, because ${path} is not installed.\n`);
    return undefined;
  }
}

/** The arguments, or what is wrong with them. */
function readWanted(args: readonly string[]): BenchArguments | string {
  try {
    const wanted = parseBenchArguments(args);
    const names = benches.map(({ name }) => name);
    const unknown = wanted.only.find((name) => !names.includes(name));
    if (unknown === undefined) return wanted;
    return `Unknown bench "${unknown}". Expected one of: ${names.join(', ')}.`;
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    return thrown.message;
  }
}
