// Opens each listener with its configuration and the contributions of the slices.
import type { Address } from '@syncline/kernel';
import { assert } from '@syncline/kernel';
import { dashboardRoutes } from './dashboard/dashboard-routes.js';
import { openGrpcListener } from './grpc/grpc-listener.js';
import { createHostCheck } from './http/host-check.js';
import { openHttpListener } from './http/http-listener.js';
import { ownRoutes } from './http/own-routes.js';
import { type ServerRoute, sliceRoutes } from './http/route-table.js';
import { serverLimits } from './limits.js';
import type { ListenerName, ServerListener } from './listener.js';
import { openMeshListener } from './mesh/mesh-listener.js';
import { openRespListener } from './resp/resp-listener.js';
import type { ServerContext } from './server-context.js';
import { reportStatus } from './server-status.js';
import type { SlicePart } from './slice-part.js';

type OpenListener = (
  context: ServerContext,
  slices: readonly SlicePart[],
) => Promise<ServerListener>;

export const OPEN_LISTENER: Readonly<Record<ListenerName, OpenListener>> = {
  http: openHttp,
  grpc: openGrpc,
  resp: openResp,
  mesh: openMesh,
};

function openHttp(context: ServerContext, slices: readonly SlicePart[]): Promise<ServerListener> {
  const { config } = context;
  const { connectionsMax, idleTimeoutMs, port, allowedHosts } = config.http;
  const isHostAllowed = createHostCheck([config.listenHost, ...allowedHosts]);
  return openHttpListener(
    { ...context, isHostAllowed },
    {
      address: addressOf(context, port),
      tls: config.credentials.tls,
      connectionsMax,
      timeouts: {
        headersTimeoutMs: serverLimits.httpHeadersTimeoutMs.value,
        requestTimeoutMs: serverLimits.httpRequestTimeoutMs.value,
        stallTimeoutMs: serverLimits.httpStallTimeoutMs.value,
        idleTimeoutMs,
      },
      routes: routesOf(context, slices),
    },
  );
}

function routesOf(context: ServerContext, slices: readonly SlicePart[]): readonly ServerRoute[] {
  const fromSlices = slices.flatMap(({ name, running }) => sliceRoutes(name, running.http ?? []));
  const status = () => reportStatus({ ...context, slices });
  const routes = [...ownRoutes({ ...context, status }), ...fromSlices];
  return [...routes, ...dashboardRoutes({ ...context, status }, slices, routes)];
}

function openGrpc(context: ServerContext, slices: readonly SlicePart[]): Promise<ServerListener> {
  const { connectionsMax, idleTimeoutMs, port } = context.config.grpc;
  return openGrpcListener(context, {
    address: addressOf(context, port),
    tls: context.config.credentials.tls,
    connectionsMax,
    timeouts: { requestTimeoutMs: serverLimits.grpcRequestTimeoutMs.value, idleTimeoutMs },
    services: slices.flatMap(({ name, running }) =>
      (running.grpc ?? []).map((service) => ({ slice: name, service })),
    ),
  });
}

function openResp(context: ServerContext, slices: readonly SlicePart[]): Promise<ServerListener> {
  const { connectionsMax, idleTimeoutMs, port } = context.config.resp;
  const sessions = slices.find(({ running }) => running.resp !== undefined)?.running.resp;
  assert(sessions !== undefined, 'RESP is opened only if a slice provides sessions');
  return openRespListener(
    { ...context, sessions },
    { address: addressOf(context, port), connectionsMax, idleTimeoutMs },
  );
}

function openMesh(context: ServerContext): Promise<ServerListener> {
  const { config, mesh } = context;
  const { connectionsMax, port } = config.mesh;
  assert(mesh !== undefined, 'the mesh listener is opened only if there is a mesh');
  return openMeshListener(
    { ...context, mesh, ended: context.end.signal },
    { address: addressOf(context, port), connectionsMax },
  );
}

function addressOf(context: ServerContext, port: number): Address {
  return { host: context.config.listenHost, port };
}
