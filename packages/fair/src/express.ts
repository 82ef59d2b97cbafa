// The entry point `@syncline/fair/express`. Express is an optional peer, so it has its own entry point.
export { type FairExpressOptions, fairExpress } from './middleware/express-middleware.js';
export type { FairProblem, FairRejection } from './middleware/http-rejection.js';
