// Formats a duration with its two largest units.

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** `3 d 4 h`, `5 min 2 s`, `12 s`; below a second `0 s`. */
export function formatDuration(durationMs: number): string {
  const first = UNITS.findIndex(([, unitMs]) => durationMs >= unitMs);
  if (first === -1) return '0 s';
  let leftMs = durationMs;
  const parts: string[] = [];
  for (const [name, unitMs] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(leftMs / unitMs);
    leftMs -= count * unitMs;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.join(' ');
}
