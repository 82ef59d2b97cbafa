// From what a user knows (how many flows, how many failures are acceptable) to the size of a structure
// and the steps of its probabilities. The formulas are those of the FAIR library.
//
// One flow in a thousand is assumed to misbehave. Levels are added until a good flow shares all of its
// cells with bad ones in less than one of ten thousand cases, treating levels as independent. With double
// hashing two flows share all cells at about 0.4 / columns², still below that from 100 columns up.
import { type OptionNames, refuseUnknownOptions, SynclineError } from '@syncline/kernel';
import { fairLimits } from './limits.js';

export interface FairTuning {
  /** Flows that are active within a window. Default 1000. */
  readonly expectedFlows?: number;
  /** Cells of a level. Default 1000; more separate flows better and cost 32 bytes per level each. */
  readonly columns?: number;
  /** Failures in a row after which a flow is blocked. Default 25; more is gentler and slower. */
  readonly tolerableFailures?: number;
}

export interface FairShape {
  readonly levels: number;
  readonly columns: number;
  /** What a failure adds to each probability. */
  readonly increment: number;
  /** What a success takes from it. */
  readonly decrement: number;
}

const TUNING_OPTIONS: OptionNames<FairTuning> = {
  expectedFlows: true,
  columns: true,
  tolerableFailures: true,
};

const BAD_FLOWS_PART = 0.001;
const MISTAKEN_PART_MAX = 0.0001;
const DECREMENT_PART = 0.001;
const LEVELS_MIN = 3;

export function tuneFair(tuning: FairTuning = {}): FairShape {
  refuseUnknownOptions(tuning, 'tuning', TUNING_OPTIONS);
  const { expectedFlows = 1000, columns = 1000, tolerableFailures = 25 } = tuning;
  refuseUnless(expectedFlows >= 1 && Number.isFinite(expectedFlows), 'tuning.expectedFlows', {
    value: expectedFlows,
    wanted: 'a number of at least 1',
  });
  refuseUnless(columns >= 2 && Number.isInteger(columns), 'tuning.columns', {
    value: columns,
    wanted: 'an integer of at least 2',
  });
  refuseUnless(
    tolerableFailures >= 2 && Number.isFinite(tolerableFailures),
    'tuning.tolerableFailures',
    { value: tolerableFailures, wanted: 'a number of at least 2' },
  );
  const badFlows = Math.ceil(BAD_FLOWS_PART * expectedFlows);
  const cleanCellPart = (1 - 1 / columns) ** badFlows;
  const levels = Math.ceil(Math.log(MISTAKEN_PART_MAX) / Math.log1p(-cleanCellPart));
  const increment = 1 / tolerableFailures;
  return {
    levels: Math.max(LEVELS_MIN, levels),
    columns,
    increment,
    decrement: DECREMENT_PART * increment,
  };
}

/** The tuned shape, with single values overridden; refused where it cannot work or is too large. */
export function shapeOf(tuning: FairTuning, overrides: Partial<FairShape>): FairShape {
  const tuned = tuneFair(tuning);
  const {
    levels = tuned.levels,
    columns = tuned.columns,
    increment = tuned.increment,
    decrement = tuned.decrement,
  } = overrides;
  const { levelsMax, columnsMax, cellsMax } = fairLimits;
  refuseUnless(isWholeWithin(levels, 1, levelsMax.value), 'levels', {
    value: levels,
    wanted: `an integer from 1 to ${levelsMax.value} (tuning adds levels if there are many flows for few columns: use more columns)`,
  });
  refuseUnless(isWholeWithin(columns, 2, columnsMax.value), 'columns', {
    value: columns,
    wanted: `an integer from 2 to ${columnsMax.value}`,
  });
  refuseUnless(levels * columns <= cellsMax.value, 'columns', {
    value: columns,
    wanted: `at most ${cellsMax.value} cells in ${levels} levels`,
  });
  refuseUnless(increment > 0 && increment < 1, 'increment', {
    value: increment,
    wanted: 'a number above 0 and below 1',
  });
  refuseUnless(decrement > 0 && decrement < increment, 'decrement', {
    value: decrement,
    wanted: `a number above 0 and below the increment, ${increment}`,
  });
  return { levels, columns, increment, decrement };
}

/** Throws `invalid-argument` that names the field, the value and what was wanted. */
export function refuseUnless(
  condition: boolean,
  field: string,
  { value, wanted }: { readonly value: unknown; readonly wanted: string },
): void {
  if (condition) return;
  const message = `invalid option ${field} = ${String(value)} for @syncline/fair; expected ${wanted}`;
  throw new SynclineError('invalid-argument', message, { details: { field } });
}

function isWholeWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}
