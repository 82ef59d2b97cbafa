// The report: one line per contestant, with median, spread and our ratio to it.
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
  const ours = median(measured[0]?.values ?? []);
  const rows = measured.map(({ contestant, version, values }, index) => [
    `  ${contestant}${version === undefined ? '' : ` ${version}`}`,
    valueText(median(values)),
    bench.unit,
    `± ${Math.round(spread(values) * 100)}%`,
    index === 0 ? '' : `ours is ${(ours / median(values)).toPrecision(2)} of it`,
  ]);
  const widest = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const lines = rows.map(([contestant = '', rate = '', unit = '', around = '', ratio = '']) =>
    `${contestant.padEnd(widest(0))}  ${rate.padStart(widest(1))} ${unit}  ${around.padStart(widest(3))}  ${ratio}`.trimEnd(),
  );
  const direction = bench.better === 'less' ? ' (less is better)' : '';
  return [`${bench.name}: ${bench.about}${direction}`, ...lines].join('\n');
}

function valueText(value: number): string {
  const rounded = Number(value.toPrecision(3));
  return rounded.toLocaleString('en-US', { maximumFractionDigits: 3 });
}
