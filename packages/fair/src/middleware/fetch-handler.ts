// For servers that turn a Request into a Response: Deno, Bun, Workers, Hono, service workers.
//
// A Request does not carry the address of its peer, and headers that claim one can be forged, so there is no
// default key: `keyGenerator` is required. The outcome is determined when the handler has answered; the
// progress of a streamed body is not visible here. A request whose signal is aborted by then is ignored.
import type { FairTracker } from '../fair-tracker.js';
import { classifySettled, isOwnRejection, markOwnRejection, outcomeOfHttp } from '../outcome.js';
import { refuseUnless } from '../tuning.js';
import { FairGate } from './fair-gate.js';
import { type FairRejection, problemAnswer, rejectionOf } from './http-rejection.js';
import {
  checkTracker,
  type HttpMiddlewareOptions,
  type KeyGenerator,
} from './middleware-options.js';

/** `Rest` is what the server passes along with the request: an environment, a context, connection info. */
export type FetchHandler<Rest extends readonly unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

type Asked<Rest extends readonly unknown[]> = readonly [request: Request, ...rest: Rest];
type Answered = readonly [request: Request, response: Response];

export interface FairFetchOptions<Rest extends readonly unknown[]>
  extends HttpMiddlewareOptions<Asked<Rest>, Answered> {
  /** Identifies the caller. Required: a Request does not know its peer. */
  readonly keyGenerator: KeyGenerator<Asked<Rest>>;
  /** Answers a throttled request. Spread `rejection.headers` into yours. */
  readonly handler?: (request: Request, rejection: FairRejection) => Response | Promise<Response>;
}

/** The same handler, throttled. It rejects with what `handler` or the options' functions throw. */
export function withFair<Rest extends readonly unknown[]>(
  tracker: FairTracker,
  handler: FetchHandler<Rest>,
  options: FairFetchOptions<Rest>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  checkTracker(tracker); // before the others: without it, all of them are in the wrong place
  const { keyGenerator } = options;
  refuseUnless(typeof keyGenerator === 'function', 'keyGenerator', {
    value: keyGenerator,
    wanted: 'a function, since a Request does not carry the address of its peer',
  });
  const gate = new FairGate<Asked<Rest>, Answered>(tracker, options, {
    keyGenerator,
    classifyOutcome: (_request, response) => outcomeOfHttp(response.status),
  });
  return async (request, ...rest) => {
    const verdict = await gate.ask([request, ...rest]);
    if (verdict.kind === 'rejected') {
      const rejection = rejectionOf(verdict.decision, options);
      const refusal = (await options.handler?.(request, rejection)) ?? problemResponse(rejection);
      markOwnRejection(refusal);
      return refusal;
    }
    const { admission } = verdict;
    try {
      const response = await handler(request, ...rest);
      if (request.signal.aborted || isOwnRejection(response)) admission.abandon();
      else admission.finish(request, response);
      return response;
    } catch (reason) {
      admission.settle(classifySettled({ status: 'rejected', reason }));
      throw reason;
    }
  };
}

function problemResponse(rejection: FairRejection): Response {
  const { headers, body } = problemAnswer(rejection);
  return new Response(body, { status: rejection.statusCode, headers });
}
