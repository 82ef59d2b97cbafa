// A duration as written in a setting: an integer and its unit, `7d`, or `never`.

const UNIT_MS = { s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const DURATION = /^(?:never|(?<count>\d{1,6})(?<unit>s|min|h|d))$/;

/** In ms; infinity for `never`. The text must match `DURATION`. */
export function parseDuration(text: string): number {
  const { count, unit } = DURATION.exec(text)?.groups ?? {};
  if (count === undefined) return Number.POSITIVE_INFINITY;
  return Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
}
