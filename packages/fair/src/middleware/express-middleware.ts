// Middleware for Express 4 and 5: that for Connect, with Express's types and its notion of the client's address.
// `request.ip` obeys the app's `trust proxy`.
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { FairTracker } from '../fair-tracker.js';
import { fairConnect } from './connect-middleware.js';
import type { FairRejection } from './http-rejection.js';
import type { HttpMiddlewareOptions } from './middleware-options.js';

type Exchange = readonly [request: Request, response: Response];

export interface FairExpressOptions extends HttpMiddlewareOptions<Exchange, Exchange> {
  /** Answers a throttled request. The headers of the rejection are set; the status is yours to set. */
  readonly handler?: (
    request: Request,
    response: Response,
    next: NextFunction,
    rejection: FairRejection,
  ) => unknown;
}

/** `app.use(fairExpress(tracker))`. What the options' functions throw goes to `next`. */
export function fairExpress(
  tracker: FairTracker,
  options: FairExpressOptions = {},
): RequestHandler {
  return fairConnect<Request, Response>(tracker, options, (request) => request.ip);
}
