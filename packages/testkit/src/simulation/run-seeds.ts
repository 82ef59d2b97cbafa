// Runs a workload under many seeds and summarizes: what failed, which rare paths were never reached, and how fast it
// was.
import { createHash } from 'node:crypto';
import { runSeed, type SeedOptions, type SeedResult } from './run-seed.js';
import type { WorkloadEntry } from './workload.js';

export interface RunSeedsOptions {
  readonly firstSeed: number;
  readonly seedsCount: number;
  readonly bug?: string | undefined;
  /** Receives the trace of every run. */
  readonly onTrace?: SeedOptions['onTrace'];
  /** Runs each seed twice and compares the traces. Default false. */
  readonly isTwice?: boolean;
  /** Called after each seed. */
  readonly onSeed?: (done: number, result: SeedResult) => void;
}

export interface SeedsReport {
  readonly workload: string;
  readonly bug: string | undefined;
  /** Seeds that were run: all of them, or up to the first that failed. */
  readonly seedsCount: number;
  readonly failed: SeedResult | undefined;
  /** A seed whose two runs differ: something outside the simulation has influenced it. */
  readonly unrepeatableSeed: number | undefined;
  readonly isTwice: boolean;
  /** A hash of the traces of all seeds: equal runs have equal hashes, on any machine. */
  readonly traceHash: string;
  readonly events: number;
  readonly simulatedMs: number;
  readonly elapsedMs: number;
  /** Processor time of one core, without what other processes used. */
  readonly cpuMs: number;
  readonly probes: ReadonlyMap<string, number>;
  /** Rare paths that no seed has reached. */
  readonly missedProbes: readonly string[];
}

/** Stops at the first seed that fails or does not repeat. */
export async function runSeeds(
  entry: WorkloadEntry,
  options: RunSeedsOptions,
): Promise<SeedsReport> {
  const probes = new Map<string, number>();
  const sums = { events: 0, simulatedMs: 0 };
  const traces = createHash('sha256');
  const startMs = performance.now();
  const startCpu = process.cpuUsage();
  let failed: SeedResult | undefined;
  let unrepeatableSeed: number | undefined;
  let done = 0;
  while (done < options.seedsCount && failed === undefined && unrepeatableSeed === undefined) {
    const seed = options.firstSeed + done;
    const run = { seed, bug: options.bug, onTrace: options.onTrace };
    const result = await runSeed(entry, run);
    const again = options.isTwice ? await runSeed(entry, run) : result;
    if (again.traceHash !== result.traceHash) unrepeatableSeed = seed;
    if (result.failure !== undefined) failed = result;
    sums.events += options.isTwice ? result.events + again.events : result.events;
    sums.simulatedMs += result.simulatedMs;
    traces.update(result.traceHash);
    for (const [name, hits] of result.probes) probes.set(name, (probes.get(name) ?? 0) + hits);
    done += 1;
    options.onSeed?.(done, result);
  }
  const cpu = process.cpuUsage(startCpu);
  return {
    workload: entry.name,
    bug: options.bug,
    seedsCount: done,
    failed,
    unrepeatableSeed,
    isTwice: options.isTwice ?? false,
    traceHash: traces.digest('hex').slice(0, 16),
    ...sums,
    elapsedMs: performance.now() - startMs,
    cpuMs: (cpu.user + cpu.system) / 1000,
    probes,
    missedProbes: entry.probes.filter((name) => !probes.has(name)),
  };
}
