// The figures for programs: one object per line, so that a long evaluation can be read while it runs.
import type { Scenario, Verdict } from '@syncline/fair/testing';
import type { EvalPlan } from './eval-plan.js';
import type { EvalRow } from './eval-row.js';
import type { ScenarioResult } from './eval-scenario.js';

export function renderJsonLines({ scenario, rows }: ScenarioResult, plan: EvalPlan): string {
  return rows.map(({ row, verdict }) => jsonLine(scenario, plan, rowFacts(row), verdict)).join('');
}

export function jsonLine(
  { name: scenario }: Scenario,
  { seeds, intervalMs }: EvalPlan,
  facts: Readonly<Record<string, unknown>>,
  verdict: Verdict,
): string {
  return `${JSON.stringify({ scenario, ...facts, seeds, intervalMs, ...verdict })}\n`;
}

function rowFacts(row: EvalRow): Readonly<Record<string, unknown>> {
  if (row.kind === 'open') return { policy: null, via: null, instances: null };
  const { policy, via, instances } = row;
  return { policy, via: instances === 1 ? null : via, instances };
}
