// The door `@syncline/fair/express`. Express is an optional peer, so it has a door of its own.
export { type FairExpressOptions, fairExpress } from './middleware/express-middleware.js';
export type { FairProblem, FairRejection } from './middleware/http-rejection.js';
