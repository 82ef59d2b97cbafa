// Thresholds for the results, slightly below the current values. Only figures that do not depend on the machine have
// a threshold.
import type { Verdict } from '@syncline/fair/testing';
import { shortName } from './eval-plan.js';
import { type EvalRow, isShared, type RowResult, rowTitle } from './eval-row.js';
import type { ScenarioResult } from './eval-scenario.js';

export interface GateReport {
  readonly checked: number;
  /** One message per figure that misses its threshold. */
  readonly failures: readonly string[];
}

interface Floor {
  readonly figure: 'jain' | 'jain30' | 'used';
  readonly min: number;
}

/** For one instance with the linear policy. */
const LINEAR_FLOORS: Readonly<Record<string, readonly Floor[]>> = {
  api_noisy_neighbors: [
    { figure: 'jain', min: 0.86 },
    { figure: 'used', min: 0.999 },
  ],
  batch_surge: [
    { figure: 'jain30', min: 0.97 },
    { figure: 'used', min: 0.915 },
  ],
  flash_crowd: [{ figure: 'jain', min: 0.96 }],
};

/** How far the result of instances that share state may be from that of a single one. */
const JAIN_DISTANCE_MAX = 0.01;
const FAILURES_RATIO_MAX = 0.05;
/** How much a rotation may lower the index, for a single instance and for several that share state. */
const ROTATION_DIP_MAX = 0.02;

export function checkScenario({ scenario, rows }: ScenarioResult): GateReport {
  const gates = rows.flatMap((result) => [
    ...floorGates(LINEAR_FLOORS[scenario.name] ?? [], result),
    ...(scenario.name === 'api_noisy_neighbors'
      ? [...sharedGates(rows, result), ...rotationGates(result)]
      : []),
  ]);
  const failures = gates.flatMap(({ title, isMet, text }) =>
    isMet ? [] : [`${shortName(scenario)}, ${title}: ${text}`],
  );
  return { checked: gates.length, failures };
}

interface Gate {
  readonly title: string;
  readonly isMet: boolean;
  readonly text: string;
}

function floorGates(floors: readonly Floor[], { row, verdict }: RowResult): readonly Gate[] {
  if (row.kind === 'open' || row.policy !== 'linear' || row.instances > 1) return [];
  return floors.map(({ figure, min }) => ({
    title: rowTitle(row),
    isMet: verdict[figure] >= min,
    text: `${FIGURES[figure]} is ${verdict[figure].toFixed(4)}, below ${min}`,
  }));
}

function sharedGates(rows: readonly RowResult[], { row, verdict }: RowResult): readonly Gate[] {
  const alone = isShared(row) ? verdictOfOne(rows, row) : undefined;
  if (alone === undefined) return [];
  const distance = Math.abs(verdict.jain - alone.jain);
  const ratio = verdict.failuresPerSuccess / alone.failuresPerSuccess;
  return [
    {
      title: rowTitle(row),
      isMet: distance <= JAIN_DISTANCE_MAX,
      text: `J is ${distance.toFixed(4)} away from one instance; at most ${JAIN_DISTANCE_MAX} is allowed`,
    },
    {
      title: rowTitle(row),
      isMet: Math.abs(ratio - 1) <= FAILURES_RATIO_MAX,
      text: `failures per success are ${ratio.toFixed(3)} times those of one instance; at most 5% more or less is allowed`,
    },
  ];
}

function rotationGates({ row, verdict: { rotationDip } }: RowResult): readonly Gate[] {
  const isOne = row.kind === 'fleet' && row.instances === 1;
  if (rotationDip === undefined || !(isOne || isShared(row))) return [];
  return [
    {
      title: rowTitle(row),
      isMet: rotationDip <= ROTATION_DIP_MAX,
      text: `after a rotation J30 is ${rotationDip.toFixed(4)} lower; at most ${ROTATION_DIP_MAX} is allowed`,
    },
  ];
}

function verdictOfOne(rows: readonly RowResult[], wanted: EvalRow): Verdict | undefined {
  const isOne = ({ row }: RowResult) =>
    row.kind === 'fleet' &&
    wanted.kind === 'fleet' &&
    row.instances === 1 &&
    row.policy === wanted.policy;
  return rows.find(isOne)?.verdict;
}

const FIGURES = { jain: 'J', jain30: 'J30', used: 'used' } as const;
