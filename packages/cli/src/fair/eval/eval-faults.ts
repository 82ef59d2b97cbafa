// Noisy neighbours while something is wrong: each fault over every seed, beside the line without throttling,
// which none of them may fall to.
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

export interface FaultRow {
  readonly policy: DecayPolicy;
  readonly instances: number;
  readonly fault: Fault;
}

export interface FaultsResult {
  readonly scenario: Scenario;
  /** Without throttling. */
  readonly open: Verdict;
  readonly rows: readonly { readonly row: FaultRow; readonly verdict: Verdict }[];
}

/** Rejects with the reason of the signal when that fires. */
export async function evaluateFaults(
  { signal, onRun }: Omit<EvalDeps, 'fleets'>,
  scenario: Scenario,
  { policies, instancesFor, seeds, intervalMs }: EvalPlan,
): Promise<FaultsResult> {
  const open: Verdict[] = [];
  const sums = policies.flatMap((policy) =>
    instancesFor(scenario).flatMap((count) =>
      FAULTS.map((fault) => ({
        row: { policy, instances: count, fault },
        verdicts: [] as Verdict[],
      })),
    ),
  );
  for (let seed = 1; seed <= seeds; seed += 1) {
    const trial = new Trial(scenario, seed);
    open.push(judge(trial.playOpen()));
    for (const [index, { row, verdicts }] of sums.entries()) {
      await setImmediate();
      signal.throwIfAborted();
      onRun(faultTitle(row), (seed - 1) * sums.length + index, seeds * sums.length);
      const openFleet = openFaultyFleet(row.fault, scenario.durationSeconds);
      verdicts.push(judge(await trial.play(openFleet, { ...row, intervalMs, signal })));
    }
  }
  const rows = sums.map(({ row, verdicts }) => ({ row, verdict: meanVerdict(verdicts) }));
  return { scenario, open: meanVerdict(open), rows };
}

const FAULT_TITLES: Readonly<Record<Fault, string>> = {
  none: 'no fault',
  skew: 'clocks ± 500 ms',
  loss: '1 % lost',
  duplicates: '5 % twice',
  outage: 'service away, a fifth of the time',
  restart: 'service restarted, state lost',
};

export function faultTitle({ policy, instances, fault }: FaultRow): string {
  return `${policy}, ${instances} ×, ${FAULT_TITLES[fault]}`;
}

export function checkFaults({ scenario, open, rows }: FaultsResult): GateReport {
  const failures = rows
    .filter(({ verdict }) => verdict.jain <= open.jain)
    .map(({ row, verdict }) => {
      const below = `J is ${verdict.jain.toFixed(4)}, not above ${open.jain.toFixed(4)}`;
      return `${shortName(scenario)}, ${faultTitle(row)}: ${below} without throttling`;
    });
  return { checked: rows.length, failures };
}
