// Runs a bench: all contestants open at once, take turns, and are timed one run at a time.
//
// Taking turns spreads what else the machine does over all of them alike. The first turn warms up and
// does not count.
import type { AnyBench, Bench, Comparison, Contestant, Measured } from './bench.js';

export function defineBench<Subject>(bench: Bench<Subject>): AnyBench {
  const { name, unit, about, contestants } = bench;
  const versions = contestants.flatMap((each) =>
    each.version === undefined ? [] : [`${each.name} ${each.version}`],
  );
  return { name, unit, about, versions, measure: (runs) => measureBench(bench, runs) };
}

async function measureBench<Subject>(
  bench: Bench<Subject>,
  runs: number,
): Promise<readonly Measured[]> {
  const opened: {
    readonly contestant: Contestant<Subject>;
    readonly subject: Subject & AsyncDisposable;
    readonly rates: number[];
  }[] = [];
  try {
    for (const contestant of bench.contestants) {
      const subject = await contestant.open();
      opened.push({ contestant, subject, rates: [] });
      await bench.prepare?.(subject);
    }
    for (let round = 0; round <= runs; round += 1) {
      for (const { subject, rates } of opened) {
        const rate = await rateOf(() => bench.run(subject, round));
        if (round > 0) rates.push(rate);
      }
    }
    return opened.map(({ contestant: { name, version }, rates }) => ({
      contestant: name,
      ...(version !== undefined && { version }),
      rates,
    }));
  } finally {
    for (const { subject } of opened) await subject[Symbol.asyncDispose]();
  }
}

async function rateOf(run: () => Promise<number>): Promise<number> {
  const startMs = performance.now();
  const count = await run();
  return (count * 1000) / (performance.now() - startMs);
}

export function compare(bench: AnyBench, measured: readonly Measured[]): readonly Comparison[] {
  const [ours, ...peers] = measured;
  if (ours === undefined) return [];
  const value = median(ours.rates);
  return peers.map((peer) => {
    const peerValue = median(peer.rates);
    return {
      bench: bench.name,
      unit: bench.unit,
      value: significant(value),
      peer: peer.contestant,
      peerValue: significant(peerValue),
      ratio: significant(value / peerValue),
      n: ours.rates.length,
      spread: significant(Math.max(spread(ours.rates), spread(peer.rates))),
    };
  });
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The ± of the median: half of the way from the lowest to the highest run, as a part of it. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2 / median(values);
}

/** Three digits are more than a bench can promise. */
function significant(value: number): number {
  return Number(value.toPrecision(3));
}
