// `npm run test:sim`: runs workloads under many seeds, or one seed again.
import { parseArgs } from 'node:util';
import { formatTraceEntry } from '@syncline/kernel/testing';
import { runSeeds, type SeedsReport } from './run-seeds.js';
import { formatFailure, formatJson, formatSummary, problemOf } from './seeds-report.js';
import type { WorkloadEntry } from './workload.js';
import { workloads as allWorkloads } from './workloads.js';

const HELP = `Runs simulated clusters, each from one seed.

  npm run test:sim -- --seeds 2000              many seeds of every workload
  npm run test:sim -- --seed 17                 one seed again, with the end of its trace
  npm run test:sim -- --seed 17 --trace         and with all of it
  npm run test:sim -- --seeds 100 --twice       each seed twice: are the traces equal?
  npm run test:sim -- --seeds 200 --bug duplicate-apply --workload register

  --seeds N        how many seeds (default 200)
  --first S        the first of them (default 1)
  --seed S         this one only
  --workload W     ${allWorkloads.map(({ name }) => name).join(', ')} (default: all)
  --bug B          plant a bug: ${allWorkloads.flatMap(({ bugs }) => bugs).join(', ')}
  --trace          print every event on standard error
  --twice          run each seed twice and compare the traces
  --json           one line of JSON per workload on standard output

Exit code 0: all seeds passed. 1: one failed, did not repeat, or a probe was missed. 2: wrong usage.
`;

export interface SimCommandDeps {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** What is being tested, for the report. */
  readonly commit: string;
}

interface SimCommandOptions {
  readonly seedsCount: number;
  readonly firstSeed: number;
  readonly isReplay: boolean;
  readonly bug: string | undefined;
  readonly isTraced: boolean;
  readonly isTwice: boolean;
  readonly isJson: boolean;
  readonly workloads: readonly WorkloadEntry[];
}

/** Returns the exit code. */
export async function runSimCommand(
  args: readonly string[],
  deps: SimCommandDeps,
): Promise<0 | 1 | 2> {
  const options = readOptions(args);
  if (options === 'help') {
    deps.writeOut(HELP);
    return 0;
  }
  if (typeof options === 'string') {
    deps.writeError(`${options}\nSee "npm run test:sim -- --help".\n`);
    return 2;
  }
  let exitCode: 0 | 1 = 0;
  for (const workload of options.workloads) {
    const report = await runSeeds(workload, {
      ...options,
      onSeed: progress(workload, options, deps),
      onTrace: options.isTraced
        ? (entry) => deps.writeError(`${formatTraceEntry(entry)}\n`)
        : undefined,
    });
    if (problemOf(report) !== undefined) exitCode = 1;
    tell(report, options, deps);
  }
  return exitCode;
}

function tell(report: SeedsReport, options: SimCommandOptions, deps: SimCommandDeps): void {
  const { failed } = report;
  const problem = problemOf(report);
  if (failed !== undefined) {
    if (options.isReplay && !options.isTraced) {
      deps.writeError(`${failed.failure?.facts.traceTail.join('\n')}\n`);
    }
    deps.writeError(`${formatFailure(report, failed, deps.commit)}\n`);
  } else if (problem !== undefined) {
    deps.writeError(`${report.workload}: ${problem}\n`);
  }
  deps.writeError(`${formatSummary(report)}\n`);
  if (options.isJson) deps.writeOut(`${formatJson(report, deps.commit)}\n`);
}

/** One line every 500 seeds. */
function progress(workload: WorkloadEntry, options: SimCommandOptions, deps: SimCommandDeps) {
  return (done: number) => {
    if (done % 500 !== 0 || done === options.seedsCount) return;
    deps.writeError(`${workload.name}: ${done} of ${options.seedsCount} seeds\n`);
  };
}

/** A text says what is wrong with the arguments. */
function readOptions(args: readonly string[]): SimCommandOptions | string {
  const values = parse(args);
  if (typeof values === 'string') return values;
  if (values.help) return 'help';
  const seedsCount = values.seed === undefined ? Number(values.seeds) : 1;
  const firstSeed = Number(values.seed ?? values.first);
  if (!Number.isSafeInteger(seedsCount) || seedsCount < 1)
    return `--seeds ${values.seeds} is no count`;
  if (!Number.isSafeInteger(firstSeed)) return `${firstSeed} is no seed`;
  const { bug } = values;
  const named = allWorkloads.filter(({ name }) => name === (values.workload ?? name));
  if (named.length === 0) return `there is no workload "${values.workload}"`;
  const workloads = named.filter(({ bugs }) => bug === undefined || bugs.includes(bug));
  if (workloads.length === 0) return `there is no bug "${bug}" to plant`;
  return {
    seedsCount,
    firstSeed,
    isReplay: values.seed !== undefined,
    bug,
    isTraced: values.trace,
    isTwice: values.twice,
    isJson: values.json,
    workloads,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seeds: { type: 'string', default: '200' },
        first: { type: 'string', default: '1' },
        seed: { type: 'string' },
        workload: { type: 'string' },
        bug: { type: 'string' },
        trace: { type: 'boolean', default: false },
        twice: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
