// `--check`: the ratios must not fall below those in `expected.json`. Rates differ between machines,
// ratios to a peer on the same machine much less; the file holds about half of what was measured.
import { readFile } from 'node:fs/promises';
import type { Comparison } from './bench.js';

/** Bench, then peer, then the least ratio. */
export type ExpectedRatios = Readonly<Record<string, Readonly<Record<string, number>>>>;

export async function readExpectedRatios(): Promise<ExpectedRatios> {
  const file = new URL('../expected.json', import.meta.url); // from bench/dist
  return JSON.parse(await readFile(file, 'utf8')) as ExpectedRatios;
}

/** One line per ratio that is too low, and per comparison that nobody has an expectation of. */
export function ratioProblems(
  comparisons: readonly Comparison[],
  expected: ExpectedRatios,
): readonly string[] {
  return comparisons.flatMap(({ bench, peer, ratio }) => {
    const least = expected[bench]?.[peer];
    if (least === undefined) return [`${bench} against ${peer} is not in bench/expected.json`];
    if (ratio >= least) return [];
    return [`${bench} is ${ratio} of ${peer}, expected at least ${least}`];
  });
}
