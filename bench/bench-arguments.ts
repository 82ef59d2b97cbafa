// The command line of `npm run bench`.
import { parseArgs } from 'node:util';

export interface BenchArguments {
  readonly isJson: boolean;
  readonly isCheck: boolean;
  readonly isHelp: boolean;
  readonly only: readonly string[];
  readonly runs: number;
}

export const HELP = `Measures Syncline against peers on this machine.

  npm run bench                                   every bench, as a table
  npm run bench -- --only storage-point-reads     one of them; --only may be repeated
  npm run bench -- --json                         one JSON object per line, per bench and peer
  npm run bench -- --check                        fails if a ratio is below bench/expected.json
  npm run bench -- --runs 15                      more runs per side than the 7 of the default

A value is the median of the runs; ± is half of the way from the lowest to the highest.
`;

const RUNS_DEFAULT = 7;
const RUNS_MIN = 5;

/** Throws an Error with one line for people. */
export function parseBenchArguments(args: readonly string[]): BenchArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      json: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      runs: { type: 'string', default: String(RUNS_DEFAULT) },
    },
  });
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < RUNS_MIN) {
    throw new Error(`--runs is a whole number from ${RUNS_MIN} up, not "${values.runs}"`);
  }
  const { check, help, json, only } = values;
  return { isCheck: check, isHelp: help, isJson: json, only, runs };
}
