// The command line of `npm run bench`.
import { parseArgs } from 'node:util';
import type { AnyBench } from './bench.js';

export interface BenchArguments {
  readonly isJson: boolean;
  readonly isCheck: boolean;
  readonly isHelp: boolean;
  readonly only: readonly string[];
  readonly runs: number;
}

const RUNS_DEFAULT = 7;
const RUNS_MIN = 5;

export function benchHelp(benches: readonly Pick<AnyBench, 'name' | 'about' | 'isLong'>[]): string {
  return `Measures Syncline against peers on this machine.

  npm run bench                                 every bench, as a table
  npm run bench -- --only storage-point-reads   one; --only may be repeated
  npm run bench -- --json                       a JSON line per bench and peer
  npm run bench -- --check                      fails if a ratio is worse than
                                                bench/expected.json says
  npm run bench -- --runs 15                    runs per side: ${RUNS_DEFAULT} by default,
                                                ${RUNS_MIN} at least

A value is the median of the runs. ± is half the range from the lowest to the
highest; in JSON, "spread" is that of the wider side, relative to its median.

Benches:
${benches.map(({ name, about, isLong }) => `  ${name}${isLong ? ' (only if named with --only)' : ''}\n    ${about}`).join('\n')}
`;
}

/** Throws an Error with a one-line message for users. */
export function parseBenchArguments(args: readonly string[]): BenchArguments {
  const values = parse(args);
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < RUNS_MIN) {
    throw new Error(`--runs must be an integer of at least ${RUNS_MIN}, not "${values.runs}".`);
  }
  const { check, help, json, only } = values;
  return { isCheck: check, isHelp: help, isJson: json, only, runs };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        check: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        json: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        runs: { type: 'string', default: String(RUNS_DEFAULT) },
      },
    }).values;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // Node's own message about values that begin with a dash is long.
    throw new Error(`${error.message.split(/\.\s|\n|\.$/)[0]}.`, { cause: error });
  }
}
