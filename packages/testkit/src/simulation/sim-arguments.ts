// The command line of `npm run test:sim`.
import { parseArgs } from 'node:util';
import type { WorkloadEntry } from './workload.js';
import { workloads as allWorkloads } from './workloads.js';

const bugList = allWorkloads.flatMap(({ bugs }) => bugs);
const workloadList = allWorkloads.map(({ name }) => name);

export const HELP = `Runs simulated clusters, each from one seed.

  npm run test:sim -- --seeds 2000          many seeds of every workload
  npm run test:sim -- --seed 17             one seed, with the end of its trace
  npm run test:sim -- --seed 17 --trace     and with all of it
  npm run test:sim -- --seeds 100 --twice   each twice: are the traces equal?
  npm run test:sim -- --bug mesh-delivered-twice --workload mesh

  --seeds N        how many seeds (default 200)
  --first S        the first of them (default 1)
  --seed S         this one only
  --workload W     ${workloadList.join(', ')} (default: all)
  --bug B          plant a bug:
                   ${bugList.join(',\n                   ')}
  --trace          print every event on standard error
  --twice          run each seed twice and compare the traces
  --json           one line of JSON per workload on standard output
  -h, --help       this text

Exit code 0: all seeds passed. 1: one failed, did not repeat, or a probe was
missed. 2: wrong usage.
`;

export interface SimArguments {
  readonly seedsCount: number;
  readonly firstSeed: number;
  readonly isReplay: boolean;
  readonly bug: string | undefined;
  readonly isTraced: boolean;
  readonly isTwice: boolean;
  readonly isJson: boolean;
  readonly workloads: readonly WorkloadEntry[];
}

const SEEDS_DEFAULT = '200';
const FIRST_DEFAULT = '1';

/** Throws an Error with a one-line message for users. */
export function parseSimArguments(args: readonly string[]): SimArguments | 'help' {
  const values = parse(args);
  if (values.help) return 'help';
  const { seed, seeds, first, bug, workload } = values;
  if (seed !== undefined && (seeds ?? first) !== undefined) {
    throw new Error('--seed runs one seed: leave out --seeds and --first, or leave out --seed.');
  }
  return {
    seedsCount: seed === undefined ? readNumber('--seeds', seeds ?? SEEDS_DEFAULT, 1) : 1,
    firstSeed:
      seed === undefined
        ? readNumber('--first', first ?? FIRST_DEFAULT, 0)
        : readNumber('--seed', seed, 0),
    isReplay: seed !== undefined,
    bug,
    isTraced: values.trace,
    isTwice: values.twice,
    isJson: values.json,
    workloads: chooseWorkloads(workload, bug),
  };
}

function readNumber(option: string, text: string, least: number): number {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`${option} must be an integer of at least ${least}, not "${text}".`);
}

/** All workloads if no name is given; with a bug, those that it can be planted in. */
function chooseWorkloads(name: string | undefined, bug: string | undefined) {
  const named = allWorkloads.filter((entry) => name === undefined || entry.name === name);
  if (named.length === 0) {
    throw new Error(`Unknown workload "${name}". Expected one of: ${workloadList.join(', ')}.`);
  }
  const chosen = named.filter(({ bugs }) => bug === undefined || bugs.includes(bug));
  if (chosen.length > 0) return chosen;
  const bugs = named.flatMap((entry) => entry.bugs);
  throw new Error(`Unknown bug "${bug}". Expected one of: ${bugs.join(', ')}.`);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seeds: { type: 'string' },
        first: { type: 'string' },
        seed: { type: 'string' },
        workload: { type: 'string' },
        bug: { type: 'string' },
        trace: { type: 'boolean', default: false },
        twice: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw error instanceof Error ? new Error(inOneLine(error.message), { cause: error }) : error;
  }
}

/** Node explains at length how to pass values that begin with a dash; no value here does. */
function inOneLine(message: string): string {
  const dashed = /^Option '(--[a-z]+)[^']*' argument is ambiguous/.exec(message)?.[1];
  if (dashed !== undefined) return `${dashed} takes no value that begins with a dash.`;
  return `${message.split(/\.\s|\n|\.$/)[0]}.`;
}
