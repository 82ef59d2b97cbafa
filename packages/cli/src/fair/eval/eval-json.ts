// Prints the results as one JSON object per line, so that a long evaluation can be processed while it runs.
import type { Scenario, Verdict } from '@syncline/fair/testing';
import { type EvalPlan, shortName } from './eval-plan.js';

/** `facts` identify the row. */
export function jsonLine(
  scenario: Scenario,
  { seeds, intervalMs }: EvalPlan,
  facts: object,
  verdict: Verdict,
): string {
  const name = shortName(scenario); // what --scenario takes
  return `${JSON.stringify({ scenario: name, ...facts, seeds, intervalMs, ...verdict })}\n`;
}
