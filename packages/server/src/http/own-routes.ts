// The routes of the server itself.
import { withoutPaths } from '@syncline/protocol';
import type { Readiness } from '../readiness.js';
import { type ServerIdentity, type ServerStatus, statusSchema } from '../server-status.js';
import type { ServerReply, ServerRoute } from './route-table.js';

export interface OwnRoutesDeps {
  readonly identity: ServerIdentity;
  readonly readiness: Readiness;
  readonly metrics: { readonly contentType: string; expose(): Promise<string> };
  status(): ServerStatus;
}

export function ownRoutes(deps: OwnRoutesDeps): readonly ServerRoute[] {
  const { identity, readiness } = deps;
  const get = (
    path: string,
    access: 'open' | 'token' | 'metrics',
    handle: () => ServerReply | Promise<ServerReply>,
  ): ServerRoute => ({ method: 'GET', path, access, handle });
  return [
    get('/healthz', 'open', () => health(readiness)),
    get('/readyz', 'open', () => ready(readiness)),
    get('/metrics', 'metrics', async () => ({
      kind: 'text',
      contentType: deps.metrics.contentType,
      body: await deps.metrics.expose(),
    })),
    get('/version', 'token', () => ({
      kind: 'json',
      body: { version: identity.version, nodeVersion: process.version },
    })),
    {
      ...get('/api/status', 'token', () => ({ kind: 'json', body: deps.status() })),
      doc: { summary: 'This node: listeners, slices, peers, checks, limits.', reply: statusSchema },
    },
  ];
}

/** Probes need no token, so responses to them reveal no paths. The log and /api/status have the full reason. */
function openReason(reason: string | undefined): string | undefined {
  return reason === undefined ? undefined : withoutPaths(reason);
}

function ready(readiness: Readiness): ServerReply {
  const checks = readiness
    .checks()
    .map(({ name, ok, reason }) => ({ name, ok, reason: openReason(reason) }));
  const isReady = checks.every((check) => check.ok);
  return { kind: 'json', status: isReady ? 200 : 503, body: { ready: isReady, checks } };
}

/** Fails only if a restart can help: a node that is waiting for a peer must not be restarted. */
function health(readiness: Readiness): ServerReply {
  const failed = readiness.checks().filter((check) => !check.ok && check.isFatal);
  const checks = failed.map(({ name, ok, reason }) => ({ name, ok, reason: openReason(reason) }));
  const isHealthy = failed.length === 0;
  return { kind: 'json', status: isHealthy ? 200 : 503, body: { healthy: isHealthy, checks } };
}
