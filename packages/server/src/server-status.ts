// The response of /api/status: the identity, the listeners and the health of this node.
import type { Clock, StorageHealth } from '@syncline/kernel';
import type { Mesh, PeerStatus } from '@syncline/mesh';
import { z } from 'zod';
import type { LimitWatch, ReachedLimit } from './limit-watch.js';
import type { ListeningAddress } from './listener.js';
import type { Check, Readiness } from './readiness.js';
import type { SliceStatus } from './slice.js';

export interface ServerStatus {
  readonly nodeId: number;
  readonly clusterId: string;
  readonly version: string;
  readonly nodeVersion: string;
  readonly startedAtMs: number;
  readonly uptimeMs: number;
  readonly isReady: boolean;
  readonly checks: readonly Check[];
  readonly listeners: readonly ListeningAddress[];
  readonly dataDir: string | undefined;
  readonly slices: readonly SliceReport[];
  /** The other nodes of the cluster, as this node sees them. */
  readonly peers: readonly PeerStatus[];
  readonly limitsReached: readonly ReachedLimit[];
}

/** For /api/openapi.json. */
export const statusSchema = z.object({
  nodeId: z.number(),
  clusterId: z.string(),
  version: z.string(),
  nodeVersion: z.string(),
  startedAtMs: z.number(),
  uptimeMs: z.number(),
  isReady: z.boolean(),
  checks: z.array(
    z.object({
      name: z.string(),
      ok: z.boolean(),
      isFatal: z.boolean(),
      reason: z.string().optional(),
    }),
  ),
  listeners: z.array(z.object({ listener: z.string(), host: z.string(), port: z.number() })),
  dataDir: z.string().optional(),
  slices: z.array(
    z.object({
      name: z.string(),
      health: z.object({ kind: z.string(), reason: z.string().optional() }),
      storage: z.looseObject({ kind: z.string() }).optional(),
      details: z.record(z.string(), z.unknown()),
    }),
  ),
  peers: z.array(
    z.object({
      nodeId: z.number(),
      address: z.string(),
      state: z.enum(['connecting', 'connected', 'behind', 'down']),
      sinceMs: z.number(),
      silentMs: z.number().optional(),
      lagOperations: z.number(),
      evictedOperations: z.number(),
      lagMs: z.number(),
      unackedOperations: z.number(),
      pendingOperations: z.number(),
      retries: z.number(),
      reconnects: z.number(),
      lastError: z.string().optional(),
    }),
  ),
  limitsReached: z.array(
    z.object({ package: z.string(), limit: z.string(), count: z.number(), lastMs: z.number() }),
  ),
});

export interface SliceReport extends SliceStatus {
  readonly name: string;
  /** Undefined for a slice without a store. */
  readonly storage: StorageHealth | undefined;
}

/** What does not change while the server runs. */
export interface ServerIdentity {
  readonly nodeId: number;
  readonly clusterId: string;
  readonly version: string;
  /** Undefined when everything is in memory. */
  readonly dataDir: string | undefined;
  readonly startedAtMs: number;
}

export interface StatusSources {
  /** Monotonic, unlike `startedAtMs` of the identity. */
  readonly startedMonotonicMs: number;
  readonly clock: Clock;
  readonly identity: ServerIdentity;
  readonly readiness: Readiness;
  readonly limits: LimitWatch;
  readonly mesh: Pick<Mesh, 'peers'> | undefined;
  /** Grows while the server starts. */
  readonly listeners: readonly ListeningAddress[];
  readonly slices: readonly { report(): SliceReport }[];
}

export function reportStatus(sources: StatusSources): ServerStatus {
  const { clock, identity, readiness } = sources;
  const checks = readiness.checks();
  return {
    ...identity,
    nodeVersion: process.version,
    uptimeMs: Math.round(clock.monotonicMs() - sources.startedMonotonicMs),
    isReady: checks.every((check) => check.ok),
    checks,
    listeners: sources.listeners,
    slices: sources.slices.map((slice) => slice.report()),
    peers: sources.mesh?.peers() ?? [],
    limitsReached: sources.limits.reachedLimits(),
  };
}
