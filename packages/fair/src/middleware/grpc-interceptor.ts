// Interceptor for grpc-js servers: `new Server({ interceptors: [fairServerInterceptor(tracker)] })`.
//
// It decides when the metadata have arrived, since they often name the tenant, and before the method runs. A
// call that the client cancelled, or whose deadline passed, is ignored; so are calls that grpc-js itself
// refuses.
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type ServerListener,
} from '@grpc/grpc-js';
import type { Decision } from '../decision.js';
import type { FairTracker } from '../fair-tracker.js';
import { isOwnRejection, markOwnRejection, outcomeOfGrpc } from '../outcome.js';
import { addressKey } from './address-key.js';
import { type Admission, FairGate } from './fair-gate.js';
import { type GrpcStatus, statusOfThrown, throttledStatus } from './grpc-rejection.js';
import type { MiddlewareOptions } from './middleware-options.js';

/** A call as the options' functions see it, before its messages. */
export interface GrpcRequest {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly metadata: Metadata;
  /** For `getAuthContext`, `getConnectionInfo`, `getDeadline` and `getHost`. */
  readonly call: ServerInterceptingCallInterface;
}

type Asked = readonly [request: GrpcRequest];
type Answered = readonly [request: GrpcRequest, status: GrpcStatus];

export interface FairInterceptorOptions extends MiddlewareOptions<Asked, Answered> {
  /** Count UNAVAILABLE as a failure, for methods that return it when capacity is short. Default false. */
  readonly unavailableIsFailure?: boolean;
  /** The status of a throttled call, if not RESOURCE_EXHAUSTED with its retry info. */
  readonly handler?: (
    request: GrpcRequest,
    rejection: { readonly decision: Decision; readonly status: GrpcStatus },
  ) => GrpcStatus | Promise<GrpcStatus>;
}

/** What the options' functions throw ends the call, as if its method had thrown it. */
export function fairServerInterceptor(
  tracker: FairTracker,
  options: FairInterceptorOptions = {},
): ServerInterceptor {
  const { unavailableIsFailure = false } = options;
  const gate = new FairGate<Asked, Answered>(tracker, options, {
    keyGenerator: ({ call }) => addressKey(call.getConnectionInfo().remoteAddress),
    classifyOutcome: (_request, { code }) => outcomeOfGrpc(code, unavailableIsFailure),
  });
  return ({ path }, call) => {
    const guarded = new GuardedCall(gate, options, call);
    return new ServerInterceptingCall(call, {
      start: (next) => next(guarded.listener(path)),
      sendStatus: (status, next) => {
        guarded.answer(status);
        next(status);
      },
    });
  };
}

class GuardedCall {
  readonly #gate: FairGate<Asked, Answered>;
  readonly #options: FairInterceptorOptions;
  readonly #call: ServerInterceptingCallInterface;
  #admitted: { readonly request: GrpcRequest; readonly admission: Admission<Answered> } | undefined;
  #isCancelled = false;

  constructor(
    gate: FairGate<Asked, Answered>,
    options: FairInterceptorOptions,
    call: ServerInterceptingCallInterface,
  ) {
    this.#gate = gate;
    this.#options = options;
    this.#call = call;
  }

  listener(path: string): ServerListener {
    return {
      onReceiveMetadata: (metadata, next) => {
        const request = { path, metadata, call: this.#call };
        void this.#receive(request, () => next(metadata));
      },
      onCancel: () => {
        this.#isCancelled = true;
        this.#admitted?.admission.abandon();
      },
    };
  }

  answer(status: GrpcStatus): void {
    if (this.#admitted === undefined) return;
    const { request, admission } = this.#admitted;
    if (isOwnRejection(status)) admission.abandon();
    else admission.finish(request, status);
  }

  async #receive(request: GrpcRequest, proceed: () => void): Promise<void> {
    let rejection: GrpcStatus | undefined;
    try {
      rejection = await this.#ask(request);
    } catch (reason) {
      rejection = statusOfThrown(reason);
    }
    if (rejection === undefined) proceed();
    else this.#call.sendStatus(rejection);
  }

  /** The status of a rejection, or undefined for an admitted call. */
  async #ask(request: GrpcRequest): Promise<GrpcStatus | undefined> {
    const verdict = await this.#gate.ask([request]);
    if (verdict.kind === 'admitted') {
      const { admission } = verdict;
      this.#admitted = { request, admission };
      if (this.#isCancelled) admission.abandon();
      return undefined;
    }
    const { decision } = verdict;
    const status = throttledStatus(decision);
    const sent = (await this.#options.handler?.(request, { decision, status })) ?? status;
    markOwnRejection(sent);
    return sent;
  }
}
