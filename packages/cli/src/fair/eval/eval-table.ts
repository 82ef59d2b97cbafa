// Prints the results of a scenario as a table.
import type { Scenario, Verdict } from '@syncline/fair/testing';
import { renderColumns } from '../../columns.js';
import type { Paint } from '../../paint.js';
import { shortName } from './eval-plan.js';

const HEAD = ['', 'J', 'J30', 'used', 'worst', 'failures/success'];

export interface TableRow {
  readonly title: string;
  /** Fleets that share state are highlighted. */
  readonly isBold: boolean;
  readonly verdict: Verdict;
}

export function renderTable(
  scenario: Scenario,
  rows: readonly TableRow[],
  { paint, seeds }: { readonly paint: Paint; readonly seeds: number },
): string {
  const seedsText = seeds === 1 ? 'one seed' : `mean of ${seeds} seeds`;
  const [room = '', wanted = ''] = describeScenario(scenario).split(', ');
  const name = paint('bold', shortName(scenario));
  const head = `${name}  ${seedsText}; ${room},\n  ${wanted}\n`; // two lines, to fit into 80 columns
  const body = rows.map(({ title, isBold, verdict }) => [
    isBold ? paint('bold', title) : title,
    ...figures(verdict),
  ]);
  return `${head}${renderColumns([HEAD.map((cell) => paint('dim', cell)), ...body], '  ')}`;
}

/** `100 per second for 300 s, requested by 180 steady @ 0.5/s and 20 aggressive @ 10/s`. */
export function describeScenario(scenario: Scenario): string {
  const classes = scenario.classes.map(({ name, clients, requestsPerSecond: rate, ...when }) => {
    const { fromSeconds: from, toSeconds: to } = when;
    return `${clients} ${name} @ ${rate}/s${from === undefined ? '' : ` from ${from} to ${to} s`}`;
  });
  const { capacityPerSecond, durationSeconds } = scenario;
  return `${capacityPerSecond} per second for ${durationSeconds} s, requested by ${classes.join(' and ')}`;
}

/** In the order of HEAD. */
export function figures(verdict: Verdict): readonly string[] {
  return [
    verdict.jain.toFixed(3),
    verdict.jain30.toFixed(3),
    `${(verdict.used * 100).toFixed(2).padStart(6)}%`,
    verdict.worst.toFixed(3),
    verdict.failuresPerSuccess.toFixed(3),
  ];
}

export const FIGURE_NAMES = HEAD.slice(1);
