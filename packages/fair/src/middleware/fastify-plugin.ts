// Plugin for Fastify: it decides in `onRequest`, before a body is read, and reports in `onResponse`. It covers
// the instance that it is registered on and everything below: the whole app, or one scope. `request.ip` obeys
// the app's `trustProxy`.
import { type Logger, type OptionNames, refuseUnknownOptions } from '@syncline/kernel';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FairTracker } from '../fair-tracker.js';
import { isOwnRejection, markOwnRejection, outcomeOfHttp } from '../outcome.js';
import { addressKey } from './address-key.js';
import { type Admission, FairGate, type RouteOverrides } from './fair-gate.js';
import { type FairRejection, problemAnswer, rejectionOf } from './http-rejection.js';
import type { HttpMiddlewareOptions } from './middleware-options.js';

type Asked = readonly [request: FastifyRequest];
type Answered = readonly [request: FastifyRequest, reply: FastifyReply];

/** `config: { fair: … }` of a route: `false` exempts it. */
export type FairRouteConfig = false | RouteOverrides<Asked>;

const ROUTE_OPTIONS: OptionNames<RouteOverrides<Asked>> = { keyGenerator: true, cost: true };

declare module 'fastify' {
  interface FastifyContextConfig {
    fair?: FairRouteConfig;
  }
}

/** `logger` is Fastify's own unless another one is given. */
export interface FairFastifyOptions extends HttpMiddlewareOptions<Asked, Answered> {
  readonly tracker: FairTracker;
  /** Answers a throttled request. The headers of the rejection are set; the status is yours to set. */
  readonly handler?: (
    request: FastifyRequest,
    reply: FastifyReply,
    rejection: FairRejection,
  ) => unknown;
}

async function plugin(instance: FastifyInstance, options: FairFastifyOptions): Promise<void> {
  const withLog = { logger: logOf(instance), ...options };
  const gate = new FairGate<Asked, Answered>(options.tracker, withLog, {
    keyGenerator: (request) => addressKey(request.ip),
    classifyOutcome: (_request, reply) => outcomeOfHttp(reply.statusCode),
  });
  const admissions = new WeakMap<FastifyRequest, Admission<Answered>>();

  instance.addHook('onRoute', ({ config, url }) => {
    if (config?.fair) refuseUnknownOptions(config.fair, `config.fair of ${url}`, ROUTE_OPTIONS);
  });
  instance.addHook('onRequest', async (request, reply) => {
    const { fair } = request.routeOptions.config;
    if (fair === false) return undefined;
    const verdict = await gate.ask([request], fair);
    if (verdict.kind === 'admitted') {
      admissions.set(request, verdict.admission);
      return undefined;
    }
    const rejection = rejectionOf(verdict.decision, options);
    markOwnRejection(reply);
    reply.headers(rejection.headers);
    if (options.handler !== undefined) await options.handler(request, reply, rejection);
    else sendProblem(reply, rejection);
    return reply; // tells Fastify that the answer is sent, or will be
  });
  instance.addHook('onResponse', async (request, reply) => {
    const admission = admissions.get(request);
    if (isCutShort(reply) || isOwnRejection(reply)) admission?.abandon();
    else admission?.finish(request, reply);
  });
  instance.addHook('onRequestAbort', async (request) => {
    admissions.get(request)?.abandon();
  });
}

/** A plain plugin has its own scope; these markers, like those of `fastify-plugin`, give it its parent's. */
export const fairFastify = Object.assign(plugin, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: '@syncline/fair',
  [Symbol.for('plugin-meta')]: { name: '@syncline/fair', fastify: '4.x || 5.x' },
});

/** Responses of HTTP/2 do not say whether they were finished. */
function isCutShort({ raw }: FastifyReply): boolean {
  return 'writableFinished' in raw && !raw.writableFinished;
}

function logOf({ log }: FastifyInstance): Pick<Logger, 'error'> {
  return { error: (msg, fields) => log.error({ err: fields?.['cause'] }, msg) };
}

/** As bytes: Fastify would add a charset to text, which JSON does not have. */
function sendProblem(reply: FastifyReply, rejection: FairRejection): void {
  const { headers, body } = problemAnswer(rejection);
  reply.code(rejection.statusCode).headers(headers).send(Buffer.from(body));
}
