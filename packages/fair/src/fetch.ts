export { type FairFetchOptions, type FetchHandler, withFair } from './middleware/fetch-handler.js';
export type { FairProblem, FairRejection } from './middleware/http-rejection.js';
