// The entry point `@syncline/fair/connect`: plain `node:http` and Connect, without any peer.
export {
  type FairConnectHandler,
  type FairConnectOptions,
  fairConnect,
} from './middleware/connect-middleware.js';
export type { FairProblem, FairRejection } from './middleware/http-rejection.js';
