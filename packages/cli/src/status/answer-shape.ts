// Validates responses. Anything may be listening at a URL, and its response is printed, so values that are too large
// or nested too deeply are refused. Unknown fields are allowed, because a newer server may send them.
import { cliLimits } from '../limits.js';

export type Check = (value: unknown) => boolean;

export const text: Check = (value) =>
  typeof value === 'string' && Buffer.byteLength(value) <= cliLimits.statusTextBytesMax.value;
export const numeric: Check = (value) => Number.isFinite(value);
export const flag: Check = (value) => typeof value === 'boolean';

export function shape(members: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(members);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    const given = new Map<string, unknown>(Object.entries(value));
    return checks.every(([name, check]) => check(given.get(name)));
  };
}

export function list(item: Check): Check {
  return (value) =>
    Array.isArray(value) && value.length <= cliLimits.statusEntriesMax.value && value.every(item);
}

export function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

export function isDeeper(
  value: unknown,
  depthMax: number = cliLimits.statusDepthMax.value,
): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((inner) => isDeeper(inner, depthMax - 1));
}
