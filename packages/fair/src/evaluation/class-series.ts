// A run over time, for a picture: what each class of clients asked for, was entitled to and was served.
import { maxMinShares, sum } from './fairness.js';
import type { Scenario } from './scenario.js';
import type { Tally } from './tally.js';

/** Requests per second, one number per bin. */
export interface ClassSeries {
  readonly name: string;
  readonly wanted: readonly number[];
  readonly share: readonly number[];
  readonly served: readonly number[];
}

/** `binSeconds` is a multiple of 5. */
export function classSeries(tally: Tally, binSeconds: number): readonly ClassSeries[] {
  const { scenario } = tally;
  const bins = tally.windows(binSeconds);
  const available = scenario.capacityPerSecond * binSeconds;
  const shares = bins.map(({ wants }) => maxMinShares(Math.min(available, sum(wants)), wants));
  return classRanges(scenario).map(({ name, from, to }) => {
    const rate = (perClient: readonly number[]) => sum(perClient.slice(from, to)) / binSeconds;
    return {
      name,
      wanted: bins.map(({ wants }) => rate(wants)),
      share: shares.map(rate),
      served: bins.map(({ gains }) => rate(gains)),
    };
  });
}

/** Bin by bin, of runs of one scenario. There is at least one. */
export function meanSeries(runs: readonly (readonly ClassSeries[])[]): readonly ClassSeries[] {
  const mean = (lists: readonly (readonly number[])[]) =>
    (lists[0] ?? []).map((_, bin) => sum(lists.map((list) => list[bin] ?? 0)) / lists.length);
  return (runs[0] ?? []).map(({ name }, index) => {
    const ofClass = runs.flatMap((run) => run[index] ?? []);
    return {
      name,
      wanted: mean(ofClass.map(({ wanted }) => wanted)),
      share: mean(ofClass.map(({ share }) => share)),
      served: mean(ofClass.map(({ served }) => served)),
    };
  });
}

/** Clients are numbered class by class. */
function classRanges({ classes }: Scenario) {
  let to = 0;
  return classes.map(({ name, clients }) => {
    const from = to;
    to += clients;
    return { name, from, to };
  });
}
