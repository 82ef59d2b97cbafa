// The entry point `@syncline/fair/fetch`: for any server that turns a Request into a Response. No peer.
export { type FairFetchOptions, type FetchHandler, withFair } from './middleware/fetch-handler.js';
export type { FairProblem, FairRejection } from './middleware/http-rejection.js';
