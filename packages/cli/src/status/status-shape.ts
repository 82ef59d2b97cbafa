// Validates the status of a server: every value that is used is checked.
import type { ServerStatus } from '@syncline/server';
import { flag, isDeeper, list, numeric, optional, shape, text } from './answer-shape.js';

export function isStatus(body: unknown): body is ServerStatus {
  return !isDeeper(body) && statusShape(body);
}

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
  peers: list(
    shape({
      nodeId: numeric,
      address: text,
      state: text,
      sinceMs: numeric,
      lagOperations: numeric,
      lagMs: numeric,
      unackedOperations: numeric,
      pendingOperations: numeric,
      retries: numeric,
      lastError: optional(text),
    }),
  ),
  limitsReached: list(shape({ package: text, limit: text, count: numeric })),
});
