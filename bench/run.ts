// `npm run bench`: runs the benches and prints tables, or JSON lines. See bench-arguments.ts.
import type { AnyBench, Comparison } from './bench.js';
import { type BenchArguments, benchHelp, parseBenchArguments } from './bench-arguments.js';
import { ratioProblems, readExpectedRatios } from './expected-ratios.js';
import { compare } from './measure.js';
import { benchTable, machineLine } from './report.js';
import { storageBenches } from './storage.js';

const benches: readonly AnyBench[] = [...storageBenches];

/** Returns the exit code: 0, 1 for a ratio that is too low, 2 for wrong usage. */
export async function runBenches(args: readonly string[]): Promise<number> {
  const wanted = await readWanted(args);
  if (typeof wanted === 'string') {
    process.stderr.write(`${wanted} See "npm run bench -- --help".\n`);
    return 2;
  }
  if (wanted.isHelp) {
    process.stdout.write(benchHelp(benches));
    return 0;
  }
  const comparisons = await measureAll(wanted);
  if (!wanted.isCheck) return 0;
  const problems = ratioProblems(comparisons, await readExpectedRatios());
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length === 0) {
    process.stderr.write(`All ${comparisons.length} ratios are as bench/expected.json demands.\n`);
  }
  return problems.length === 0 ? 0 : 1;
}

async function measureAll({ isJson, only, runs }: BenchArguments): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  process.stderr.write(`${machineLine()}\n`);
  for (const bench of benches) {
    if (only.length > 0 && !only.includes(bench.name)) continue;
    const measured = await bench.measure(runs);
    const compared = compare(bench, measured);
    comparisons.push(...compared);
    const lines = isJson
      ? compared.map((line) => JSON.stringify(line))
      : ['', benchTable(bench, measured)];
    process.stdout.write(`${lines.join('\n')}\n`);
  }
  return comparisons;
}

/** The arguments, or what is wrong with them. */
async function readWanted(args: readonly string[]): Promise<BenchArguments | string> {
  try {
    const wanted = parseBenchArguments(args);
    const names = benches.map(({ name }) => name);
    const unknown = wanted.only.find((name) => !names.includes(name));
    if (unknown === undefined) return wanted;
    const { nearestName } = await import('@syncline/server');
    const nearest = nearestName(unknown, names);
    const hint =
      nearest === undefined ? `There are: ${names.join(', ')}.` : `Did you mean "${nearest}"?`;
    return `There is no bench "${unknown}". ${hint}`;
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    return thrown.message;
  }
}
