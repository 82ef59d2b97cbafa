// A run over time, for a chart: what each class of clients was served, beside its fair share. The share is
// based on the nominal request rates: the actual demand within a few seconds is mostly chance.

import type { ClientClass, Scenario } from './scenario.js';
import type { Tally } from './tally.js';
import { maxMinShares, sum } from './verdict.js';

/** Requests per second, one number per bin. */
export interface ClassSeries {
  readonly name: string;
  readonly share: readonly number[];
  readonly served: readonly number[];
}

/** `binSeconds` is a multiple of 5. */
export function classSeries(tally: Tally, binSeconds: number): readonly ClassSeries[] {
  const { scenario } = tally;
  const bins = tally.windows(binSeconds);
  const shares = bins.map((_, bin) => fairRates(scenario, (bin + 0.5) * binSeconds));
  return classRanges(scenario).map(({ name, from, to }) => {
    const total = (perClient: readonly number[]) => sum(perClient.slice(from, to));
    return {
      name,
      share: shares.map(total),
      served: bins.map(({ gains }) => total(gains) / binSeconds),
    };
  });
}

/** Per client. */
function fairRates({ classes, capacityPerSecond }: Scenario, atSeconds: number): number[] {
  const isAsking = ({ fromSeconds = 0, toSeconds = Number.POSITIVE_INFINITY }: ClientClass) =>
    atSeconds >= fromSeconds && atSeconds < toSeconds;
  const wants = classes.flatMap((each) =>
    new Array<number>(each.clients).fill(isAsking(each) ? each.requestsPerSecond : 0),
  );
  return maxMinShares(capacityPerSecond, wants);
}

/** Bin by bin, of runs of one scenario. There is at least one. */
export function meanSeries(runs: readonly (readonly ClassSeries[])[]): readonly ClassSeries[] {
  const mean = (lists: readonly (readonly number[])[]) =>
    (lists[0] ?? []).map((_, bin) => sum(lists.map((list) => list[bin] ?? 0)) / lists.length);
  return (runs[0] ?? []).map(({ name }, index) => {
    const ofClass = runs.flatMap((run) => run[index] ?? []);
    return {
      name,
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
