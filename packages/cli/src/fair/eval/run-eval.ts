// `syncline fair eval` from the plan to the last line: figures to standard output as soon as a scenario is
// done, progress to standard error, the picture at the end, and the gates last.
import { createSystemClock, SynclineError } from '@syncline/kernel';
import { type CliWorld, say } from '../../cli-world.js';
import { paintFor } from '../../paint.js';
import { listenForStop } from '../../serve/stop-request.js';
import { checkScenario } from './eval-gates.js';
import { renderJsonLines } from './eval-json.js';
import { writePicture } from './eval-picture.js';
import { type EvalPlan, shortName } from './eval-plan.js';
import { EvalProgress } from './eval-progress.js';
import { isShared, rowTitle } from './eval-row.js';
import { evaluateScenario, type ScenarioResult } from './eval-scenario.js';
import { renderTable } from './eval-table.js';
import { openFleets } from './open-fleets.js';

/** Throws `aborted` when it was stopped, and `limit-exceeded` when a check fails. */
export async function runEval(world: CliWorld, plan: EvalPlan, isJson: boolean): Promise<void> {
  const stop = new AbortController();
  void listenForStop(world).then(({ event }) =>
    stop.abort(new SynclineError('aborted', `stopped by ${event} before the end.`)),
  );
  const progress = new EvalProgress({ world, clock: createSystemClock() });
  const results: ScenarioResult[] = [];
  const { fleets, close } = await openFleets(plan);
  try {
    for (const scenario of plan.scenarios) {
      const onRun = (title: string, run: number, runs: number) =>
        progress.show(`${shortName(scenario)}: ${title}`, run / runs);
      const result = await evaluateScenario({ fleets, signal: stop.signal, onRun }, scenario, plan);
      progress.clear();
      results.push(result);
      world.stdout.write(isJson ? renderJsonLines(result, plan) : tableOf(world, result, plan));
    }
  } finally {
    progress.clear();
    await close();
  }
  if (plan.picture) {
    writePicture(plan.picture, results);
    say(world, `The picture is in ${plan.picture.file}`);
  }
  if (plan.isChecked) checkAll(world, results);
}

function tableOf(world: CliWorld, { scenario, rows }: ScenarioResult, plan: EvalPlan): string {
  const paint = paintFor(world.stdout, world.environment);
  const isFirst = scenario === plan.scenarios[0];
  const body = rows.map(({ row, verdict }) => ({
    title: rowTitle(row),
    isBold: isShared(row),
    verdict,
  }));
  return `${isFirst ? '' : '\n'}${renderTable(scenario, body, { paint, seeds: plan.seeds })}`;
}

function checkAll(world: CliWorld, results: readonly ScenarioResult[]): void {
  const reports = results.map(checkScenario);
  const checked = reports.reduce((sum, report) => sum + report.checked, 0);
  const failures = reports.flatMap((report) => report.failures);
  for (const failure of failures) say(world, `Below its gate: ${failure}`);
  if (failures.length > 0)
    throw new SynclineError(
      'limit-exceeded',
      `${failures.length} of ${checked} gates are not met.`,
    );
  say(world, `All ${checked} gates are met.`);
}
