// The shape of a limit. Every queue, buffer, frame, retry and list in a request has one, declared in
// its package's `limits.ts`. docs/LIMITS.md and the `syncline_limit` gauge are generated from these
// lists.

export interface Limit {
  readonly value: number;
  readonly unit: 'bytes' | 'entries' | 'ms' | 'attempts' | 'connections' | 'levels';
  /** Why this number, and what happens above it. */
  readonly why: string;
}

/** Keeps the names as literal types. */
export function defineLimits<const T extends Readonly<Record<string, Limit>>>(limits: T): T {
  return limits;
}
