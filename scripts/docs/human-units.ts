// Readable numbers: 1 MiB, 5 s, 4,096 entries.
import type { Limit } from '@syncline/kernel';

const byteSteps = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
] as const;

const timeSteps = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

export function formatLimit({ value, unit }: Pick<Limit, 'value' | 'unit'>): string {
  switch (unit) {
    case 'bytes':
      return formatSteps(value, byteSteps, 'bytes');
    case 'ms':
      return formatSteps(value, timeSteps, 'ms');
    case 'entries':
      return formatNumber(value); // the text says of what
    case 'attempts':
    case 'connections':
    case 'levels':
      return `${formatNumber(value)} ${unit}`;
  }
}

/** The largest unit in which the value is short, but never rounded: a limit is exact. */
function formatSteps(
  value: number,
  steps: readonly (readonly [string, number])[],
  smallest: string,
): string {
  const [unit, size] = steps.find(([, step]) => value >= step && (value / step) % 0.5 === 0) ?? [
    smallest,
    1,
  ];
  return `${formatNumber(value / size)} ${unit}`;
}

function formatNumber(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 6 });
}
