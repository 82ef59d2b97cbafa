// The figures for programs: one object per line, so that a long evaluation can be read while it runs.
import type { Scenario, Verdict } from '@syncline/fair/testing';
import type { EvalPlan } from './eval-plan.js';

/** `facts` say which row it is. */
export function jsonLine(
  { name: scenario }: Scenario,
  { seeds, intervalMs }: EvalPlan,
  facts: object,
  verdict: Verdict,
): string {
  return `${JSON.stringify({ scenario, ...facts, seeds, intervalMs, ...verdict })}\n`;
}
