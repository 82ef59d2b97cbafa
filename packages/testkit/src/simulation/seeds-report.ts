// The report on a run over many seeds, for people and for programs.
import type { SeedResult } from './run-seed.js';
import type { SeedsReport } from './run-seeds.js';

/** A run of fewer seeds proves nothing about paths that were not reached. */
const SEEDS_FOR_PROBES = 100;

/** Undefined if everything passed. */
export function problemOf(report: SeedsReport): string | undefined {
  const { failed, unrepeatableSeed, seedsCount, bug, missedProbes } = report;
  if (failed?.failure !== undefined) return failed.failure.message;
  if (unrepeatableSeed !== undefined) {
    return `seed ${unrepeatableSeed} gave two different traces: something outside the simulation influences it`;
  }
  const isLong = seedsCount >= SEEDS_FOR_PROBES && bug === undefined;
  if (isLong && missedProbes.length > 0) {
    return `${seedsCount} seeds never reached ${missedProbes.join(', ')}`;
  }
  return undefined;
}

export function formatFailure(report: SeedsReport, failed: SeedResult, commit: string): string {
  const { workload, bug } = report;
  const bugOption = bug === undefined ? '' : ` --bug ${bug}`;
  return [
    `${workload} failed after ${countOf(report.seedsCount)}: ${failed.failure?.message}`,
    `commit ${commit}, seed ${failed.seed}, faults: ${failed.faults.join(', ') || 'none'}`,
    `replay: npm run test:sim -- --workload ${workload} --seed ${failed.seed}${bugOption}`,
  ].join('\n');
}

/** Two lines: what was run, and the hash that shows whether another run was the same. */
export function formatSummary(report: SeedsReport): string {
  const { workload, seedsCount, simulatedMs, elapsedMs, traceHash } = report;
  const seconds = elapsedMs / 1000;
  const seedsRate = (seedsCount / seconds).toFixed(1);
  const rates = `${seedsRate} seeds/s, ${eventsPerCpuSecond(report)} events per second of one core`;
  const isRepeated = report.isTwice && report.unrepeatableSeed === undefined;
  return [
    `${workload}: ${countOf(seedsCount)} in ${seconds.toFixed(1)} s (${rates}), ${simulatedTime(simulatedMs)} simulated`,
    `${workload}: trace ${traceHash}${isRepeated ? ', the same in both runs of each seed' : ''}`,
  ].join('\n');
}

/** One line for programs. */
export function formatJson(report: SeedsReport, commit: string): string {
  const { failed, probes, elapsedMs, cpuMs, ...rest } = report;
  return JSON.stringify({
    ...rest,
    commit,
    elapsedMs: Math.round(elapsedMs),
    cpuMs: Math.round(cpuMs),
    eventsPerCpuSecond: eventsPerCpuSecond(report),
    problem: problemOf(report) ?? null,
    failedSeed: failed?.seed ?? null,
    probes: Object.fromEntries(probes),
  });
}

function eventsPerCpuSecond({ events, cpuMs }: SeedsReport): number {
  return Math.round((events / cpuMs) * 1000);
}

function countOf(seeds: number): string {
  return seeds === 1 ? '1 seed' : `${seeds} seeds`;
}

function simulatedTime(ms: number): string {
  return ms < 360_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 3_600_000).toFixed(1)} h`;
}
