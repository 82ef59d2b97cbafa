// Runs a bench: all contestants open at once, take turns, and are timed one run at a time.
//
// Taking turns spreads other load on the machine evenly over all of them. The first turn warms up and does not count.
import type { AnyBench, Bench, Comparison, Contestant, Measured } from './bench.js';

export function defineBench<Subject>(bench: Bench<Subject>): AnyBench {
  const { name, unit, about, contestants, better = 'more', isLong = false } = bench;
  const versions = contestants.flatMap((each) =>
    each.version === undefined ? [] : [`${each.name} ${each.version}`],
  );
  const measure = (runs: number) => measureBench(bench, runs);
  return { name, unit, better, about, isLong, versions, measure };
}

async function measureBench<Subject>(
  bench: Bench<Subject>,
  runs: number,
): Promise<readonly Measured[]> {
  const opened: {
    readonly contestant: Contestant<Subject>;
    readonly subject: Subject & AsyncDisposable;
    readonly values: number[];
  }[] = [];
  try {
    for (const contestant of bench.contestants) {
      const subject = await contestant.open();
      opened.push({ contestant, subject, values: [] });
      await bench.prepare?.(subject);
    }
    for (let round = 0; round <= runs; round += 1) {
      for (const { subject, values } of opened) {
        const run = () => bench.run(subject, round);
        const value = await (bench.better === 'less' ? run() : rateOf(run));
        if (round > 0) values.push(value);
      }
    }
    const { bound } = bench;
    const bounds = bound === undefined ? [] : [{ contestant: bound.name, values: [bound.value] }];
    return [...opened.map(measuredOf), ...bounds];
  } finally {
    for (const { subject } of opened) await subject[Symbol.asyncDispose]();
  }
}

function measuredOf({
  contestant: { name, version },
  values,
}: {
  readonly contestant: { readonly name: string; readonly version?: string };
  readonly values: readonly number[];
}): Measured {
  return { contestant: name, ...(version !== undefined && { version }), values };
}

async function rateOf(run: () => Promise<number>): Promise<number> {
  const startMs = performance.now();
  const count = await run();
  return (count * 1000) / (performance.now() - startMs);
}

export function compare(bench: AnyBench, measured: readonly Measured[]): readonly Comparison[] {
  const [ours, ...peers] = measured;
  if (ours === undefined) return [];
  const value = median(ours.values);
  return peers.map((peer) => {
    const peerValue = median(peer.values);
    return {
      bench: bench.name,
      unit: bench.unit,
      value: significant(value),
      peer: peer.contestant,
      peerValue: significant(peerValue),
      ratio: significant(value / peerValue),
      better: bench.better,
      n: ours.values.length,
      spread: significant(Math.max(spread(ours.values), spread(peer.values))),
    };
  });
}

export function median(values: readonly number[]): number {
  const sorted = toSortedNumbers(values);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The ± of the median: half the range from the lowest to the highest run, relative to it. */
export function spread(values: readonly number[]): number {
  const halfRange = (Math.max(...values) - Math.min(...values)) / 2;
  return halfRange === 0 ? 0 : halfRange / median(values);
}

/** The value that `part` of all values do not exceed: 0.99 for the 99th percentile. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = toSortedNumbers(values);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

function toSortedNumbers(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}

/** More than three digits are not significant. */
function significant(value: number): number {
  return Number(value.toPrecision(3));
}
