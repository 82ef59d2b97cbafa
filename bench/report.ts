// What a person reads: one line per contestant, with median, spread and our ratio to it.
import { arch, cpus, platform } from 'node:os';
import type { AnyBench, Measured } from './bench.js';
import { median, spread } from './measure.js';

/** A figure means nothing without these: commit, machine, and the versions of the peers. */
export function factsLines(commit: string, benches: readonly AnyBench[]): string {
  const [cpu] = cpus();
  const node = `Node ${process.versions.node}, ${platform()} ${arch()}`;
  const versions = new Set(benches.flatMap((bench) => bench.versions));
  const peers = versions.size === 0 ? '' : `Peers: ${[...versions].join(', ')}\n`;
  return `Commit ${commit}. ${node}, ${cpus().length} × ${cpu?.model ?? 'unknown'}\n${peers}`;
}

export function benchTable(bench: AnyBench, measured: readonly Measured[]): string {
  const ours = median(measured[0]?.rates ?? []);
  const rows = measured.map(({ contestant, version, rates }, index) => [
    `  ${contestant}${version === undefined ? '' : ` ${version}`}`,
    rateText(median(rates)),
    bench.unit,
    `± ${Math.round(spread(rates) * 100)} %`,
    index === 0 ? '' : `ours is ${(ours / median(rates)).toPrecision(2)} of it`,
  ]);
  const widest = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const lines = rows.map(([contestant = '', rate = '', unit = '', around = '', ratio = '']) =>
    `${contestant.padEnd(widest(0))}  ${rate.padStart(widest(1))} ${unit}  ${around.padStart(widest(3))}  ${ratio}`.trimEnd(),
  );
  return [`${bench.name}: ${bench.about}`, ...lines].join('\n');
}

function rateText(rate: number): string {
  return Math.round(Number(rate.toPrecision(3))).toLocaleString('en-US');
}
