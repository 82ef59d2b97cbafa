export {
  type FairFastifyOptions,
  type FairRouteConfig,
  fairFastify,
} from './middleware/fastify-plugin.js';
export type { FairProblem, FairRejection } from './middleware/http-rejection.js';
