// Runs `syncline fair eval`: prints figures to standard output after each scenario and progress to standard error,
// then writes the chart and checks the thresholds.
import type { Scenario } from '@syncline/fair/testing';
import { createSystemClock, SynclineError } from '@syncline/kernel';
import { type CliWorld, say } from '../../cli-world.js';
import { paintFor } from '../../paint.js';
import { listenForStop } from '../../serve/stop-request.js';
import { checkFaults, evaluateFaults, type FaultResult, faultTitle } from './eval-faults.js';
import { checkScenario, type GateReport } from './eval-gates.js';
import { jsonLine } from './eval-json.js';
import { checkPicture, writePicture } from './eval-picture.js';
import { type EvalPlan, shortName } from './eval-plan.js';
import { EvalProgress } from './eval-progress.js';
import { evalLoad, isShared, openRow, rowFacts, rowTitle } from './eval-row.js';
import { type EvalDeps, evaluateScenario, type ScenarioResult } from './eval-scenario.js';
import { renderTable, type TableRow } from './eval-table.js';
import { describeParts } from './killed-parts.js';
import { openFleets } from './open-fleets.js';

interface EvalShell {
  readonly world: CliWorld;
  readonly plan: EvalPlan;
  readonly isJson: boolean;
  readonly signal: AbortSignal;
  readonly progress: EvalProgress;
}

/** Throws `aborted` if it is stopped, and `limit-exceeded` if a threshold is missed. */
export async function runEval(world: CliWorld, plan: EvalPlan, isJson: boolean): Promise<void> {
  if (plan.picture) checkPicture(plan.picture);
  const stop = new AbortController();
  void listenForStop(world).then(({ event }) =>
    stop.abort(new SynclineError('aborted', `stopped by ${event} before the end.`)),
  );
  const progress = new EvalProgress({ world, clock: createSystemClock() });
  const shell = { world, plan, isJson, signal: stop.signal, progress };
  try {
    const reports = plan.isFaulty ? await runFaults(shell) : await runScenarios(shell);
    if (plan.isChecked) reportGates(world, reports);
  } finally {
    progress.clear();
  }
}

async function runScenarios(shell: EvalShell): Promise<readonly GateReport[]> {
  const { world, plan, signal } = shell;
  const results: ScenarioResult[] = [];
  const { fleets, close } = await openFleets(plan, signal);
  try {
    for (const scenario of plan.scenarios) {
      const deps = { fleets, signal, onRun: onRunOf(shell, scenario) };
      const result = await evaluateScenario(deps, scenario, plan);
      results.push(result);
      const rows = result.rows.map(({ row, verdict }) => ({
        title: rowTitle(row),
        isBold: isShared(row),
        facts: rowFacts(row),
        verdict,
      }));
      print(shell, scenario, rows);
    }
  } finally {
    await close();
  }
  if (plan.picture) {
    writePicture(plan.picture, results);
    say(world, `Chart written to ${plan.picture.file}`);
  }
  return results.map(checkScenario);
}

async function runFaults(shell: EvalShell): Promise<readonly GateReport[]> {
  const { plan, signal } = shell;
  const reports: GateReport[] = [];
  for (const scenario of plan.scenarios) {
    const deps = { signal, onRun: onRunOf(shell, scenario) };
    const result = await evaluateFaults(deps, scenario, plan);
    const open = {
      title: rowTitle(openRow),
      isBold: false,
      facts: { ...rowFacts(openRow), fault: null },
      verdict: result.open,
    };
    const rows = result.rows.map(({ row, verdict, parts }) => ({
      title: faultTitle(row),
      isBold: false,
      facts: { ...row, ...parts },
      verdict,
    }));
    print(shell, scenario, [open, ...rows]);
    printParts(shell, result.rows);
    reports.push(checkFaults(result));
  }
  return reports;
}

/** In JSON they are part of the row. */
function printParts({ world, isJson }: EvalShell, rows: readonly FaultResult[]): void {
  if (isJson) return;
  for (const { row, parts } of rows) {
    if (parts) world.stdout.write(`  ${faultTitle(row)}: ${describeParts(parts)}\n`);
  }
}

/** Progress over all scenarios, weighted by the number of instances. */
function onRunOf({ progress, plan }: EvalShell, scenario: Scenario): EvalDeps['onRun'] {
  const loads = plan.scenarios.map((each) => evalLoad(each, plan));
  const sum = (list: readonly number[]) => list.reduce((total, load) => total + load, 0);
  const index = plan.scenarios.indexOf(scenario);
  const before = sum(loads.slice(0, index)) / sum(loads);
  const share = (loads[index] ?? 0) / sum(loads);
  const name = plan.isFaulty ? 'faults' : shortName(scenario);
  return (title, run, runs) => progress.show(`${name}: ${title}`, before + (share * run) / runs);
}

interface PrintedRow extends TableRow {
  readonly facts: object;
}

function print(
  { world, plan, isJson, progress }: EvalShell,
  scenario: ScenarioResult['scenario'],
  rows: readonly PrintedRow[],
): void {
  const { stdout, environment } = world;
  progress.clear();
  if (isJson) {
    for (const { facts, verdict } of rows) stdout.write(jsonLine(scenario, plan, facts, verdict));
    return;
  }
  const isFirst = scenario === plan.scenarios[0];
  const table = renderTable(scenario, rows, {
    paint: paintFor(stdout, environment),
    seeds: plan.seeds,
  });
  stdout.write(`${isFirst ? '' : '\n'}${table}`);
}

function reportGates(world: CliWorld, reports: readonly GateReport[]): void {
  const checked = reports.reduce((sum, report) => sum + report.checked, 0);
  const failures = reports.flatMap((report) => report.failures);
  for (const failure of failures) say(world, `Threshold missed: ${failure}`);
  if (failures.length > 0)
    throw new SynclineError(
      'limit-exceeded',
      `${failures.length} of ${checked} thresholds were missed.`,
    );
  const all = checked === 1 ? 'The threshold was met.' : `All ${checked} thresholds were met.`;
  say(world, checked === 0 ? 'None of these results has a threshold.' : all);
}
