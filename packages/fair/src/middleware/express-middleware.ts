// Middleware for Express. The outcome is taken when the response closes: a whole one by its status, one that
// the client did not wait for is ignored. `request.ip` obeys the app's `trust proxy`.
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { FairTracker } from '../fair-tracker.js';
import { isOwnRejection, markOwnRejection } from '../own-rejection.js';
import { addressKey } from './address-key.js';
import { FairGate } from './fair-gate.js';
import { type FairRejection, problemAnswer, rejectionOf } from './http-rejection.js';
import type { HttpMiddlewareOptions } from './middleware-options.js';
import { outcomeOfHttp } from './status-outcome.js';

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

/** `app.use(fairExpress(tracker))`. Express 5 hands what the options' functions throw to `next`. */
export function fairExpress(
  tracker: FairTracker,
  options: FairExpressOptions = {},
): RequestHandler {
  const gate = new FairGate<Exchange, Exchange>(tracker, options, {
    keyGenerator: (request) => addressKey(request.ip),
    classifyOutcome: (_request, response) => outcomeOfHttp(response.statusCode),
  });
  return async (request, response, next) => {
    const verdict = await gate.ask([request, response]);
    if (verdict.kind === 'rejected') {
      const rejection = rejectionOf(verdict.decision, options);
      markOwnRejection(response);
      for (const [name, value] of Object.entries(rejection.headers))
        response.setHeader(name, value);
      if (options.handler === undefined) sendProblem(response, rejection);
      else await options.handler(request, response, next, rejection);
      return;
    }
    const { admission } = verdict;
    response.once('close', () => {
      if (response.writableFinished && !isOwnRejection(response)) {
        admission.finish(request, response);
      } else admission.abandon();
    });
    next();
  };
}

/** Not `response.send`: it would add a charset and an ETag. */
function sendProblem(response: Response, rejection: FairRejection): void {
  const { headers, body } = problemAnswer(rejection);
  response.writeHead(rejection.statusCode, {
    ...headers,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
