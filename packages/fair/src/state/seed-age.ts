// The age of a seed, which decides whether its cells are still useful.
//
// Seeds of named trackers are the starts of windows, in ms. The original contract fixes no unit, so that of the
// default tracker is inferred from the size of the number; one that cannot be a time is opaque and lives as
// long as it is used.
//
// F11  Live means: at most three windows old, at most one ahead.

export type SeedUnit = 's' | 'ms' | 'us' | 'ns';
export type DefaultSeedUnit = 'auto' | SeedUnit | 'opaque';
export type SeedAge = 'live' | 'evicted' | 'future' | 'opaque';

/** Two windows in which it is written, plus one for clock skew and late flushes. */
export const LIVE_WINDOWS = 3;

const UNITS: readonly { readonly unit: SeedUnit; readonly from: bigint; readonly toMs: number }[] =
  [
    { unit: 's', from: 10n ** 9n, toMs: 1e3 },
    { unit: 'ms', from: 10n ** 12n, toMs: 1 },
    { unit: 'us', from: 10n ** 15n, toMs: 1e-3 },
    { unit: 'ns', from: 10n ** 18n, toMs: 1e-6 },
  ];

/** Of a seed in ms, by wall time. */
export function seedAge(seedMs: number, windowMs: number, wallMs: number): SeedAge {
  if (seedMs < wallMs - LIVE_WINDOWS * windowMs) return 'evicted';
  return seedMs > wallMs + windowMs ? 'future' : 'live';
}

export interface DefaultSeedRule {
  readonly windowMs: number;
  readonly unit: DefaultSeedUnit;
}

/** Never `future`: a time far in the future counts as opaque. */
export function defaultSeedAge(seed: bigint, rule: DefaultSeedRule, wallMs: number): SeedAge {
  const seedMs = defaultSeedMs(seed, rule.unit);
  if (seedMs === undefined) return 'opaque';
  const age = seedAge(seedMs, rule.windowMs, wallMs);
  return age === 'future' ? 'opaque' : age;
}

function defaultSeedMs(seed: bigint, wanted: DefaultSeedUnit): number | undefined {
  if (wanted === 'opaque') return undefined;
  for (const { unit, from, toMs } of UNITS) {
    const isUnit = wanted === 'auto' ? seed >= from && seed < from * 10n : unit === wanted;
    if (isUnit) return Number(seed) * toMs;
  }
  return undefined;
}

/** Eviction is by number, so the bound must be a whole one. */
export function evictionBound(windowMs: number, wallMs: number): bigint {
  return BigInt(Math.max(0, Math.ceil(wallMs - LIVE_WINDOWS * windowMs)));
}

/** How often to check for seeds that are too old. */
export function sweepIntervalMs(windowMs: number): number {
  return Math.min(windowMs / 10, 10_000);
}
