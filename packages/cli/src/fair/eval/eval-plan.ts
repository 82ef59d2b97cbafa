// Validates the options of `syncline fair eval`. An invalid value is reported with the allowed ones.
import type { DecayPolicy } from '@syncline/fair';
import { type Fault, type Scenario, scenarios } from '@syncline/fair/testing';
import { nearestName, SynclineError } from '@syncline/kernel';
import { cliLimits } from '../../limits.js';

/** How instances share what they learn. */
export type Via = 'isolated' | 'service' | 'redis';

export interface EvalFlags {
  readonly scenario?: string;
  readonly policy?: string;
  readonly instances?: string;
  readonly intervalMs?: string;
  readonly seeds?: string;
  readonly via?: string;
  readonly redisUrl?: string;
  readonly picture?: string;
  readonly faults?: true;
  readonly check?: true;
  readonly json?: true;
}

export interface EvalPlan {
  readonly scenarios: readonly Scenario[];
  readonly policies: readonly DecayPolicy[];
  /** The sizes of the fleets to run in addition to the single instance; each at least 2. */
  instancesFor(scenario: Scenario, fault?: Fault): readonly number[];
  readonly intervalMs: number;
  readonly seeds: number;
  readonly via: Via;
  readonly redisUrl: string | undefined;
  readonly picture: PictureTarget | undefined;
  readonly isFaulty: boolean;
  readonly isChecked: boolean;
}

export interface PictureTarget {
  readonly file: string;
  readonly format: 'svg' | 'html';
}

const POLICIES = ['exponential', 'linear'] as const;
const VIAS = ['isolated', 'service', 'redis'] as const;

/** Throws `invalid-argument`. */
export function planEval(flags: EvalFlags): EvalPlan {
  const isFaulty = flags.faults === true;
  const isChecked = flags.check === true;
  const asked = instancesOf(flags.instances);
  refuseConflicts(flags);
  return {
    scenarios: isFaulty ? [scenarios.apiNoisyNeighbors] : scenariosOf(flags.scenario),
    policies: flags.policy === undefined ? POLICIES : [oneOf('--policy', flags.policy, POLICIES)],
    instancesFor: (scenario, fault) =>
      asked ?? (fault ? faultyByDefault(fault) : instancesByDefault(scenario, isChecked)),
    intervalMs: wholeNumber('--interval-ms', flags.intervalMs ?? '250', [10, 10_000]),
    seeds: wholeNumber('--seeds', flags.seeds ?? '20', [1, cliLimits.evalSeedsMax.value]),
    via: flags.via === undefined ? 'service' : oneOf('--via', flags.via, VIAS),
    redisUrl: flags.redisUrl === undefined ? undefined : redisUrl(flags.redisUrl),
    picture: flags.picture === undefined ? undefined : pictureTarget(flags.picture),
    isFaulty,
    isChecked,
  };
}

/** With --check, the fleets that have a threshold run, which takes minutes. */
function instancesByDefault(scenario: Scenario, isChecked: boolean): readonly number[] {
  return isChecked && scenario === scenarios.apiNoisyNeighbors ? [2, 4, 8] : [];
}

/** The more instances there are, the less each one knows, so the thresholds for a killed service are for 8. */
function faultyByDefault(fault: Fault): readonly number[] {
  return fault === 'killed' ? [8] : [4];
}

function refuseConflicts({ faults, via, scenario, picture, redisUrl: url }: EvalFlags): void {
  if (url !== undefined && via !== 'redis')
    throw refused('--redis-url requires "--via redis". Add it, or remove --redis-url.');
  if (faults === undefined) return;
  if (via !== undefined && via !== 'service')
    throw refused(`--faults requires the state service; remove "--via ${via}".`);
  if (scenario !== undefined && scenariosOf(scenario)[0] !== scenarios.apiNoisyNeighbors)
    throw refused('--faults only runs noisy-neighbors; remove --scenario.');
  if (picture !== undefined) throw refused('--faults cannot draw a chart; remove --picture.');
}

/** `noisy-neighbors` and `api_noisy_neighbors` are the same. */
function scenariosOf(text: string | undefined): readonly Scenario[] {
  const all = Object.values(scenarios);
  if (text === undefined) return all;
  const names = all.map(shortName);
  const wanted = oneOf('--scenario', text.replaceAll('_', '-').replace(/^api-/, ''), names);
  return all.filter((scenario) => shortName(scenario) === wanted);
}

export function shortName({ name }: Scenario): string {
  return name.replace(/^api_/, '').replaceAll('_', '-');
}

/** Parses `2,4,8`. 1 is left out, because the single instance always runs. */
function instancesOf(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return undefined;
  const range = [1, cliLimits.evalInstancesMax.value] as const;
  const counts = text.split(',').map((part) => wholeNumber('--instances', part, range));
  return [...new Set(counts)].filter((count) => count > 1);
}

function oneOf<const T extends string>(flag: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((each) => each === text);
  if (found !== undefined) return found;
  const near = nearestName(text, allowed);
  const hint = near === undefined ? '' : ` Did you mean "${near}"?`;
  throw refused(
    `${flag} is ${JSON.stringify(text)}; expected one of ${allowed.join(', ')}.${hint}`,
  );
}

function wholeNumber(flag: string, text: string, [min, max]: readonly [number, number]): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const wanted = `an integer from ${min} to ${max}`;
  throw refused(`${flag} is ${JSON.stringify(text)}; expected ${wanted}.`);
}

function redisUrl(text: string): string {
  if (URL.canParse(text) && /^rediss?:$/.test(new URL(text).protocol)) return text;
  throw refused('--redis-url is not a URL such as redis://127.0.0.1:6379.');
}

function pictureTarget(file: string): PictureTarget {
  const format = /\.(svg|html)$/.exec(file)?.[1];
  if (format === 'svg' || format === 'html') return { file, format };
  const wanted = 'a name that ends in .svg or .html';
  throw refused(`--picture is ${JSON.stringify(file)}; expected ${wanted}.`);
}

function refused(message: string): SynclineError {
  return new SynclineError('invalid-argument', message);
}
