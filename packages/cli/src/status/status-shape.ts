// Whether an answer is the status of a server. Whatever listens at a URL may answer, and what passes
// here is shown: so every value that is used is checked, and none may be so large or so deep that
// showing it fails. Members that are not known here pass, because a newer server may send them.
import type { ServerStatus } from '@syncline/server';
import { cliLimits } from '../limits.js';

type Check = (value: unknown) => boolean;

export function isStatus(body: unknown): body is ServerStatus {
  return !isDeeper(body, cliLimits.statusDepthMax.value) && statusShape(body);
}

const text: Check = (value) =>
  typeof value === 'string' && Buffer.byteLength(value) <= cliLimits.statusTextBytesMax.value;
const numeric: Check = (value) => Number.isFinite(value);
const flag: Check = (value) => typeof value === 'boolean';

const statusShape = shape({
  nodeId: numeric,
  clusterId: text,
  version: text,
  nodeVersion: text,
  uptimeMs: numeric,
  isReady: flag,
  dataDir: optional(text),
  checks: list(shape({ name: text, ok: flag, reason: optional(text) })),
  listeners: list(shape({ listener: text, host: text, port: numeric })),
  slices: list(
    shape({
      name: text,
      health: shape({ kind: text }),
      storage: optional(shape({ kind: text })),
      details: shape({}),
    }),
  ),
  limitsReached: list(shape({ package: text, limit: text, count: numeric })),
});

function shape(members: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(members);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    const given = new Map<string, unknown>(Object.entries(value));
    return checks.every(([name, check]) => check(given.get(name)));
  };
}

function list(item: Check): Check {
  return (value) =>
    Array.isArray(value) && value.length <= cliLimits.statusEntriesMax.value && value.every(item);
}

function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

function isDeeper(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((inner) => isDeeper(inner, depthMax - 1));
}
