export { type FairExpressOptions, fairExpress } from './middleware/express-middleware.js';
export type { FairProblem, FairRejection } from './middleware/http-rejection.js';
