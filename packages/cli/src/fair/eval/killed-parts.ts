// The two parts of a run with a killed service that have their own thresholds: while the service is down, and the
// first seconds after its return, when what the instances learned on their own must still count.
import type { DecayPolicy } from '@syncline/fair';
import { absenceOf, judgePart, type PartVerdict, type Tally } from '@syncline/fair/testing';

const AFTER_SECONDS = 15;
/** The thresholds apply to at most 8 instances: the more there are, the less each one sees. */
const INSTANCES_MAX = 8;
const AWAY_MIN: Readonly<Record<DecayPolicy, number>> = { exponential: 0.6, linear: 0.73 };
/** The exponential policy does not reach it without faults either. */
const AFTER_MIN: Readonly<Partial<Record<DecayPolicy, number>>> = { linear: 0.8 };

export interface KilledParts {
  readonly away: PartVerdict;
  readonly after: PartVerdict;
}

export function judgeKilled(tally: Tally): KilledParts | undefined {
  const absence = absenceOf('killed', tally.scenario.durationSeconds);
  if (absence === undefined) return undefined;
  const { fromSeconds, toSeconds } = absence;
  return {
    away: judgePart(tally, fromSeconds, toSeconds),
    after: judgePart(tally, toSeconds, toSeconds + AFTER_SECONDS),
  };
}

/** Requires at least one element. */
export function meanParts(parts: readonly KilledParts[]): KilledParts {
  const mean = (part: keyof KilledParts, field: keyof PartVerdict) =>
    parts.reduce((sum, each) => sum + each[part][field], 0) / parts.length;
  const verdict = (part: keyof KilledParts) => ({
    jain: mean(part, 'jain'),
    used: mean(part, 'used'),
  });
  return { away: verdict('away'), after: verdict('after') };
}

export function describeParts({ away, after }: KilledParts): string {
  const figures = ({ jain, used }: PartVerdict) =>
    `J ${jain.toFixed(3)}, used ${(used * 100).toFixed(1)}%`;
  return `while it is down: ${figures(away)}; in the ${AFTER_SECONDS} s after: ${figures(after)}`;
}

/** One entry per threshold: a message if it is missed, undefined if it is met. */
export function checkParts(
  { away, after }: KilledParts,
  { policy, instances }: { readonly policy: DecayPolicy; readonly instances: number },
): readonly (string | undefined)[] {
  if (instances > INSTANCES_MAX) return [];
  const afterMin = AFTER_MIN[policy];
  return [
    below('while it is down', away, AWAY_MIN[policy]),
    ...(afterMin === undefined ? [] : [below(`in the ${AFTER_SECONDS} s after`, after, afterMin)]),
  ];
}

function below(when: string, { jain }: PartVerdict, min: number): string | undefined {
  return jain >= min ? undefined : `J ${when} is ${jain.toFixed(4)}, below ${min}`;
}
