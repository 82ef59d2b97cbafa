// The rows of an evaluation: without throttling, with one instance, and with fleets. Every fleet that shares state is
// compared with one of the same size that does not.
import type { DecayPolicy } from '@syncline/fair';
import type { Scenario, Verdict } from '@syncline/fair/testing';
import type { EvalPlan, Via } from './eval-plan.js';

export type EvalRow =
  | { readonly kind: 'open' }
  | {
      readonly kind: 'fleet';
      readonly policy: DecayPolicy;
      readonly via: Via;
      readonly instances: number;
    };

export interface RowResult {
  readonly row: EvalRow;
  readonly verdict: Verdict;
}

export const openRow: EvalRow = { kind: 'open' };

export function evalRows(scenario: Scenario, plan: EvalPlan): readonly EvalRow[] {
  const { policies, via } = plan;
  const instances = plan.instancesFor(scenario);
  const vias = via === 'isolated' ? [via] : (['isolated', via] as const);
  const fleets = policies.flatMap((policy) => [
    { kind: 'fleet', policy, via: 'isolated', instances: 1 } as const,
    ...instances.flatMap((count) =>
      vias.map((each) => ({ kind: 'fleet', policy, via: each, instances: count }) as const),
    ),
  ]);
  return [openRow, ...fleets];
}

/** The relative duration of a scenario, roughly proportional to its instances. */
export function evalLoad(scenario: Scenario, plan: EvalPlan): number {
  const weights = evalRows(scenario, plan).map((row) => (row.kind === 'open' ? 1 : row.instances));
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/** Whether the instances of a row share state. */
export function isShared(row: EvalRow): boolean {
  return row.kind === 'fleet' && row.via !== 'isolated';
}

export function rowTitle(row: EvalRow): string {
  if (row.kind === 'open') return 'no throttling';
  if (row.instances === 1) return `${row.policy}, one instance`;
  const how = { isolated: 'isolated', service: 'state service', redis: 'Redis' }[row.via];
  return `${row.policy}, ${row.instances} × ${how}`;
}

/** For JSON. `via` is null for a single instance, which shares nothing. */
export function rowFacts(row: EvalRow) {
  if (row.kind === 'open') return { policy: null, via: null, instances: null };
  const { policy, via, instances } = row;
  return { policy, via: instances === 1 ? null : via, instances };
}
