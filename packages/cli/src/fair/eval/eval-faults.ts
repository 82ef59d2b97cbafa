// Evaluates noisy-neighbors with faults: each fault with every seed. Fairness must stay above the baseline without
// throttling.
import { setImmediate } from 'node:timers/promises';
import type { DecayPolicy } from '@syncline/fair';
import {
  FAULTS,
  type Fault,
  judge,
  meanVerdict,
  openFaultyFleet,
  type Scenario,
  Trial,
  type Verdict,
} from '@syncline/fair/testing';
import type { GateReport } from './eval-gates.js';
import { type EvalPlan, shortName } from './eval-plan.js';
import type { EvalDeps } from './eval-scenario.js';
import { checkParts, judgeKilled, type KilledParts, meanParts } from './killed-parts.js';

export interface FaultRow {
  readonly policy: DecayPolicy;
  readonly instances: number;
  readonly fault: Fault;
}

export interface FaultsResult {
  readonly scenario: Scenario;
  /** Without throttling. */
  readonly open: Verdict;
  readonly rows: readonly FaultResult[];
}

export interface FaultResult {
  readonly row: FaultRow;
  readonly verdict: Verdict;
  /** Only for the fault `killed`. */
  readonly parts?: KilledParts;
}

/** Rejects with the signal's reason when it fires. */
export async function evaluateFaults(
  { signal, onRun }: Omit<EvalDeps, 'fleets'>,
  scenario: Scenario,
  { policies, instancesFor, seeds, intervalMs }: EvalPlan,
): Promise<FaultsResult> {
  const open: Verdict[] = [];
  const sums = policies.flatMap((policy) =>
    FAULTS.flatMap((fault) =>
      instancesFor(scenario, fault).map((count) => ({
        row: { policy, instances: count, fault },
        verdicts: [] as Verdict[],
        parts: [] as KilledParts[],
      })),
    ),
  );
  for (let seed = 1; seed <= seeds; seed += 1) {
    const trial = new Trial(scenario, seed);
    open.push(judge(trial.playOpen()));
    for (const [index, { row, verdicts, parts }] of sums.entries()) {
      await setImmediate();
      signal.throwIfAborted();
      onRun(faultTitle(row), (seed - 1) * sums.length + index, seeds * sums.length);
      const openFleet = openFaultyFleet(row.fault, scenario.durationSeconds);
      const tally = await trial.play(openFleet, { ...row, intervalMs, signal });
      verdicts.push(judge(tally));
      const killed = row.fault === 'killed' ? judgeKilled(tally) : undefined;
      if (killed !== undefined) parts.push(killed);
    }
  }
  const rows = sums.map(({ row, verdicts, parts }) => ({
    row,
    verdict: meanVerdict(verdicts),
    ...(parts.length > 0 && { parts: meanParts(parts) }),
  }));
  return { scenario, open: meanVerdict(open), rows };
}

const FAULT_TITLES: Readonly<Record<Fault, string>> = {
  none: 'no fault',
  skew: 'clocks ± 500 ms',
  loss: '1% lost',
  duplicates: '5% twice',
  outage: 'service unreachable, a fifth of the time',
  restart: 'service restarted, state lost',
  killed: 'service killed for a fifth of the time, state lost',
};

export function faultTitle({ policy, instances, fault }: FaultRow): string {
  return `${policy}, ${instances} ×, ${FAULT_TITLES[fault]}`;
}

export function checkFaults({ scenario, open, rows }: FaultsResult): GateReport {
  const gates = rows.flatMap(({ row, verdict, parts }) => {
    const isAbove = verdict.jain > open.jain;
    const below = `J is ${verdict.jain.toFixed(4)}, not above ${open.jain.toFixed(4)} without throttling`;
    const texts = [isAbove ? undefined : below, ...(parts ? checkParts(parts, row) : [])];
    return texts.map((text) => text && `${shortName(scenario)}, ${faultTitle(row)}: ${text}`);
  });
  return { checked: gates.length, failures: gates.filter((text) => text !== undefined) };
}
