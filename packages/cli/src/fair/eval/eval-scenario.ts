// Evaluates one scenario: every row over every seed. All rows of a seed see the same requests.
import { setImmediate } from 'node:timers/promises';
import {
  type ClassSeries,
  classSeries,
  judge,
  meanSeries,
  meanVerdict,
  type OpenFleet,
  type Scenario,
  type Tally,
  Trial,
  type Verdict,
} from '@syncline/fair/testing';
import type { EvalPlan, Via } from './eval-plan.js';
import { type EvalRow, evalRows, type RowResult, rowTitle } from './eval-row.js';

export interface EvalDeps {
  readonly fleets: Readonly<Record<Via, OpenFleet>>;
  readonly signal: AbortSignal;
  /** Called before each run. `runs` is their total number. */
  onRun(title: string, run: number, runs: number): void;
}

export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly rows: readonly SeriesResult[];
}

export interface SeriesResult extends RowResult {
  readonly series: readonly ClassSeries[];
}

/** For charts: the mean of 20 seeds over 5 s is smooth enough to read. */
const SERIES_BIN_SECONDS = 5;

/** Rejects with the signal's reason when it fires. */
export async function evaluateScenario(
  deps: EvalDeps,
  scenario: Scenario,
  plan: EvalPlan,
): Promise<ScenarioResult> {
  const sums = evalRows(scenario, plan).map((row) => ({
    row,
    verdicts: [] as Verdict[],
    runs: [] as (readonly ClassSeries[])[],
  }));
  for (let seed = 1; seed <= plan.seeds; seed += 1) {
    const trial = new Trial(scenario, seed);
    for (const [index, { row, verdicts, runs }] of sums.entries()) {
      await setImmediate(); // yields to the event loop for Ctrl-C: a run with one instance never does
      deps.signal.throwIfAborted();
      deps.onRun(rowTitle(row), (seed - 1) * sums.length + index, plan.seeds * sums.length);
      const tally = await playRow(deps, trial, row, plan.intervalMs);
      verdicts.push(judge(tally));
      if (plan.picture) runs.push(classSeries(tally, SERIES_BIN_SECONDS));
    }
  }
  const rows = sums.map(({ row, verdicts, runs }) => ({
    row,
    verdict: meanVerdict(verdicts),
    series: meanSeries(runs),
  }));
  return { scenario, rows };
}

async function playRow(
  { fleets, signal }: EvalDeps,
  trial: Trial,
  row: EvalRow,
  intervalMs: number,
): Promise<Tally> {
  if (row.kind === 'open') return trial.playOpen();
  const { policy, instances, via } = row;
  return trial.play(fleets[via], { policy, instances, intervalMs, signal });
}
