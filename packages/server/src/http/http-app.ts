// The fastify application: routes, guard, error answers, headers and metrics. It opens no socket.
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, type Logger, type Metrics, SynclineError } from '@syncline/kernel';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { TokenCheck } from '../auth/bearer-token.js';
import type { GuessBudget } from '../auth/guess-budget.js';
import type { LimitWatch } from '../limit-watch.js';
import { serverLimits } from '../limits.js';
import type { ServerMetricName } from '../metrics-list.js';
import type { UnsentWatch } from '../unsent-watch.js';
import type { HostCheck } from './host-check.js';
import { acceptJsonBodies, isTooDeepError } from './json-body.js';
import { problemFrom, problemWith, sendProblem } from './problem-reply.js';
import { writeReply } from './reply-writer.js';
import { guardRequest, type RequestFacts } from './request-guard.js';
import { methodsOf, type ServerRoute, suggestPaths } from './route-table.js';

export interface HttpAppDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics<ServerMetricName>;
  readonly limits: LimitWatch;
  readonly draining: AbortSignal;
  readonly isTokenValid: TokenCheck;
  readonly isMetricsTokenValid?: TokenCheck | undefined;
  readonly isHostAllowed: HostCheck;
  readonly guesses: GuessBudget;
  readonly unsent: UnsentWatch;
}

export interface HttpAppOptions {
  readonly routes: readonly ServerRoute[];
  createServer(handler: RequestListener): Server;
  /** Called if a client sends bytes that are not a valid request. The callee owns the socket. */
  onClientError(systemCode: string, socket: Socket): void;
}

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** Routes validate their input themselves. Fastify's schema compilers would only slow down the start. */
function noSchemas(): never {
  throw new Error('routes have no schemas');
}

export function createHttpApp(deps: HttpAppDeps, options: HttpAppOptions): FastifyInstance {
  const { routes } = options;
  const app = fastify({
    serverFactory: (handler) => options.createServer(handler),
    bodyLimit: serverLimits.httpBodyBytesMax.value,
    schemaController: {
      compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas },
    },
    clientErrorHandler: (error, socket) => options.onClientError(error.code ?? '', socket),
    frameworkErrors: (error, request, reply) => answerThrown(deps, error, request, reply),
    routerOptions: {
      querystringParser: () => ({}),
      maxParamLength: serverLimits.httpHeaderBytesMax.value, // larger than any URL that is allowed
    },
  });
  acceptJsonBodies(app);
  app.addHook('onRequest', async (request, reply) => admit(deps, routes, request, reply));
  app.setErrorHandler((thrown, request, reply) => answerThrown(deps, thrown, request, reply));
  app.setNotFoundHandler((request, reply) => answerUnknown(routes, request, reply));
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path,
      handler: (request, reply) => answer(deps, route, request, reply),
    });
  }
  return app;
}

/** Runs first for every request, including those that match no route. */
async function admit(
  deps: HttpAppDeps,
  routes: readonly ServerRoute[],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const pattern = request.routeOptions.url;
  const route = routes.find((candidate) => candidate.path === pattern);
  measure(deps, request, reply, pattern ?? 'none');
  reply.headers(SECURITY_HEADERS);
  if (deps.draining.aborted) reply.header('connection', 'close');
  const refusal = guardRequest(factsOf(request, route), {
    isHostAllowed: deps.isHostAllowed,
    isTokenValid: deps.isTokenValid,
    isMetricsTokenValid: deps.isMetricsTokenValid,
    isBlocked: deps.guesses.isBlocked(request.raw.socket.remoteAddress),
    headersMax: serverLimits.httpHeadersMax.value,
    urlBytesMax: serverLimits.httpUrlBytesMax.value,
    isDraining: deps.draining.aborted,
  });
  if (refusal === undefined) return undefined;
  if (refusal.limit !== undefined) deps.limits.reached('server', refusal.limit);
  if (refusal.error.code === 'unauthenticated') {
    deps.metrics.add('syncline_server_auth_failures_total', 1, { listener: 'http' });
    if (request.raw.headers.authorization !== undefined)
      deps.guesses.failed('http', request.raw.socket.remoteAddress);
  }
  return sendProblem(reply, problemWith(refusal.error, refusal.status));
}

/** An unknown path requires the token too, so that clients without it cannot probe for routes. */
function factsOf(request: FastifyRequest, route: ServerRoute | undefined): RequestFacts {
  const { headers, rawHeaders, url = '' } = request.raw;
  return {
    method: request.method,
    url,
    host: headers.host,
    origin: headers.origin,
    authorization: headers.authorization,
    headersCount: rawHeaders.length / 2,
    hostsCount: rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
      .length,
    access: route?.access ?? 'token',
  };
}

async function answer(
  deps: HttpAppDeps,
  route: ServerRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const { signal } = gone;
  const content = await route.handle({
    params: request.params as Readonly<Record<string, string>>,
    query: new URLSearchParams(/\?.*$/s.exec(request.url)?.[0]),
    headers: request.headers,
    body: request.body,
    signal,
  });
  await writeReply(deps, reply, { content, signal });
  return reply;
}

function answerThrown(
  deps: HttpAppDeps,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const where = { method: request.method, route: request.routeOptions?.url ?? 'none' };
  const problem = problemFrom(thrown, deps.logger, where);
  if (problem.status === 413) deps.limits.reached('server', 'httpBodyBytesMax');
  if (isTooDeepError(thrown)) deps.limits.reached('server', 'httpBodyDepthMax');
  reply.headers(SECURITY_HEADERS); // a path that cannot be decoded fails before `admit`
  if (reply.raw.headersSent) reply.raw.destroy();
  else sendProblem(reply, problem);
}

function answerUnknown(
  routes: readonly ServerRoute[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const path = request.url.replace(/\?.*$/s, '');
  const methods = methodsOf(path, routes);
  if (methods.length > 0) {
    const message = `${path} does not support ${request.method}; expected ${methods.join(', ')}.`;
    reply.header('allow', methods.join(', '));
    sendProblem(reply, problemWith(new SynclineError('invalid-argument', message), 405));
    return;
  }
  const suggestions = suggestPaths(path, routes);
  const hint =
    suggestions.length === 1
      ? `Did you mean ${suggestions[0]}?`
      : `Known paths: ${suggestions.join(', ')}.`;
  const message = `${path} does not exist. ${hint}`;
  const details = { suggestions };
  sendProblem(reply, problemWith(new SynclineError('not-found', message, { details })));
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE']);

function measure(
  deps: HttpAppDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  route: string,
): void {
  const startMs = deps.clock.monotonicMs();
  const method = METHODS.has(request.method) ? request.method : 'other';
  reply.raw.once('close', () => {
    const status = reply.raw.headersSent ? String(reply.raw.statusCode) : 'none';
    deps.metrics.add('syncline_server_http_requests_total', 1, { method, route, status });
    const isStream = String(reply.raw.getHeader('content-type')).startsWith('text/event-stream');
    if (isStream) return;
    const seconds = (deps.clock.monotonicMs() - startMs) / 1000;
    deps.metrics.observe('syncline_server_http_request_seconds', seconds, { route });
  });
}
