// `npm run test:sim`: runs workloads under many seeds, or one seed again.
import { formatTraceEntry, type TraceEntry } from '@syncline/kernel/testing';
import { runSeeds, type SeedsReport } from './run-seeds.js';
import { formatFailure, formatJson, formatSummary, problemOf } from './seeds-report.js';
import { HELP, parseSimArguments, type SimArguments } from './sim-arguments.js';
import type { WorkloadEntry } from './workload.js';

/** How often a long run prints its progress. */
const PROGRESS_SEEDS = 500;

export interface SimCommandDeps {
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** The commit that is being tested, for the report. */
  readonly commit: string;
}

/** Returns the exit code. */
export async function runSimCommand(
  args: readonly string[],
  deps: SimCommandDeps,
): Promise<0 | 1 | 2> {
  const options = readArguments(args);
  if (options === 'help') {
    deps.writeOut(HELP);
    return 0;
  }
  if (options instanceof Error) {
    deps.writeError(`${options.message} See "npm run test:sim -- --help".\n`);
    return 2;
  }
  let exitCode: 0 | 1 = 0;
  for (const workload of options.workloads) {
    const report = await runWorkload(workload, options, deps);
    if (problemOf(report) !== undefined) exitCode = 1;
    printReport(report, options, deps);
  }
  return exitCode;
}

function readArguments(args: readonly string[]): SimArguments | 'help' | Error {
  try {
    return parseSimArguments(args);
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

function runWorkload(workload: WorkloadEntry, options: SimArguments, deps: SimCommandDeps) {
  const writeEntry = (entry: TraceEntry) => deps.writeError(`${formatTraceEntry(entry)}\n`);
  return runSeeds(workload, {
    ...options,
    onTrace: options.isTraced ? writeEntry : undefined,
    onSeed(done, { traceTail }) {
      if (options.isReplay && !options.isTraced) deps.writeError(`${traceTail.join('\n')}\n`);
      const isWorthALine = done % PROGRESS_SEEDS === 0 && done < options.seedsCount;
      if (!isWorthALine) return;
      deps.writeError(`${workload.name}: ${done} of ${options.seedsCount} seeds\n`);
    },
  });
}

function printReport(report: SeedsReport, options: SimArguments, deps: SimCommandDeps): void {
  const { failed } = report;
  const problem = problemOf(report);
  if (failed !== undefined) {
    deps.writeError(`${formatFailure(report, failed, deps.commit)}\n`);
  } else if (problem !== undefined) {
    deps.writeError(`${report.workload}: ${problem}\n`);
  }
  deps.writeError(`${formatSummary(report)}\n`);
  if (options.isJson) deps.writeOut(`${formatJson(report, deps.commit)}\n`);
}
