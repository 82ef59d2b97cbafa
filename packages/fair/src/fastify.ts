// The entry point `@syncline/fair/fastify`. Fastify is an optional peer, so it has its own entry point.
export {
  type FairFastifyOptions,
  type FairRouteConfig,
  fairFastify,
} from './middleware/fastify-plugin.js';
export type { FairProblem, FairRejection } from './middleware/http-rejection.js';
