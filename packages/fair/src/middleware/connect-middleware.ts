// Middleware for plain `node:http`, Connect and whatever else calls `(request, response, next)`. Express builds on it.
// The outcome is determined when the response closes: a complete one counts by its status; one that the client
// did not wait for is ignored.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FairTracker } from '../fair-tracker.js';
import { isOwnRejection, markOwnRejection, outcomeOfHttp } from '../outcome.js';
import { addressKey } from './address-key.js';
import { FairGate } from './fair-gate.js';
import { type FairRejection, problemAnswer, rejectionOf } from './http-rejection.js';
import type { HttpMiddlewareOptions } from './middleware-options.js';

type Exchange<Request, Response> = readonly [request: Request, response: Response];
type Next = (error?: unknown) => void;

export interface FairConnectOptions<
  Request extends IncomingMessage = IncomingMessage,
  Response extends ServerResponse = ServerResponse,
> extends HttpMiddlewareOptions<Exchange<Request, Response>, Exchange<Request, Response>> {
  /** Answers a throttled request. The headers of the rejection are set; the status is yours to set. */
  readonly handler?: (
    request: Request,
    response: Response,
    next: Next,
    rejection: FairRejection,
  ) => unknown;
}

export type FairConnectHandler<
  Request extends IncomingMessage = IncomingMessage,
  Response extends ServerResponse = ServerResponse,
> = (request: Request, response: Response, next: Next) => void;

/**
 * `app.use(fairConnect(tracker))`, or in a `node:http` server `fair(request, response, () => answer(…))`. Errors of the
 * options' functions go to `next`.
 */
export function fairConnect<
  Request extends IncomingMessage = IncomingMessage,
  Response extends ServerResponse = ServerResponse,
>(
  tracker: FairTracker,
  options: FairConnectOptions<Request, Response> = {},
  addressOf: (request: Request) => string | undefined = ({ socket }) => socket.remoteAddress,
): FairConnectHandler<Request, Response> {
  const gate = new FairGate<Exchange<Request, Response>, Exchange<Request, Response>>(
    tracker,
    options,
    {
      keyGenerator: (request) => addressKey(addressOf(request)),
      classifyOutcome: (_request, response) => outcomeOfHttp(response.statusCode),
    },
  );
  const handle = async (request: Request, response: Response, next: Next): Promise<boolean> => {
    const verdict = await gate.ask([request, response]);
    if (verdict.kind === 'rejected') {
      const rejection = rejectionOf(verdict.decision, options);
      markOwnRejection(response);
      for (const [name, value] of Object.entries(rejection.headers))
        response.setHeader(name, value);
      if (options.handler === undefined) sendProblem(response, rejection);
      else await options.handler(request, response, next, rejection);
      return false;
    }
    const { admission } = verdict;
    response.once('close', () => {
      if (response.writableFinished && !isOwnRejection(response)) {
        admission.finish(request, response);
      } else admission.abandon();
    });
    return true;
  };
  const guard = async (request: Request, response: Response, next: Next): Promise<void> => {
    let isAdmitted: boolean;
    try {
      isAdmitted = await handle(request, response, next);
    } catch (thrown) {
      next(thrown);
      return;
    }
    if (isAdmitted) next();
  };
  return (request, response, next) => void guard(request, response, next);
}

/** Not Express's `response.send`: it would add a charset and an ETag. */
function sendProblem(response: ServerResponse, rejection: FairRejection): void {
  const { headers, body } = problemAnswer(rejection);
  response.writeHead(rejection.statusCode, {
    ...headers,
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
