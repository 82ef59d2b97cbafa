// `--check`: ratios must be as good as those in `expected.json`, at least that where more is better and at most that
// where less is better. Values differ between machines, ratios to a peer on the same machine much less; the file
// leaves a margin of about a factor of two.
import { readFile } from 'node:fs/promises';
import type { Comparison } from './bench.js';

/** Bench, then peer, then the worst ratio that passes. */
export type ExpectedRatios = Readonly<Record<string, Readonly<Record<string, number>>>>;

export async function readExpectedRatios(): Promise<ExpectedRatios> {
  const file = new URL('../expected.json', import.meta.url); // from bench/dist
  return JSON.parse(await readFile(file, 'utf8')) as ExpectedRatios;
}

/** One line per ratio that is not good enough, and per comparison without an expectation. */
export function ratioProblems(
  comparisons: readonly Comparison[],
  expected: ExpectedRatios,
): readonly string[] {
  return comparisons.flatMap(({ bench, peer, ratio, better }) => {
    const worst = expected[bench]?.[peer];
    if (worst === undefined) return [`${bench} against ${peer} is not in bench/expected.json`];
    if (better === 'more' ? ratio >= worst : ratio <= worst) return [];
    const bound = better === 'more' ? 'at least' : 'at most';
    return [`${bench} is ${ratio} of ${peer}, expected ${bound} ${worst}`];
  });
}
