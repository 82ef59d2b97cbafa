// Checks every call before its message is read, and records how it ended.
//
// The health service needs no token: probes have none, and the service reveals no data. Reflection needs the
// token like any other service, since it reveals the API.
import {
  status as grpcStatus,
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { type Clock, type Metrics, SynclineError, type Timer } from '@syncline/kernel';
import { GRPC_STATUS } from '@syncline/protocol';
import { type TokenCheck, tokenError, tooManyGuesses } from '../auth/bearer-token.js';
import type { LimitWatch } from '../limit-watch.js';
import type { ServerMetricName } from '../metrics-list.js';
import { statusOf } from './call-status.js';

export interface CallGuardDeps {
  readonly clock: Clock;
  readonly metrics: Metrics<ServerMetricName>;
  readonly limits: LimitWatch;
  readonly isTokenValid: TokenCheck;
}

/** What the guard knows about a connection. */
export interface CallWatch {
  isBlocked(peer: string): boolean;
  trusted(peer: string): void;
  guessed(peer: string): void;
}

export interface CallGuardOptions {
  /** The request of a unary or server-streaming call must arrive within this time. */
  readonly requestTimeoutMs: number;
}

type Method = Parameters<ServerInterceptor>[0];

const OPEN_SERVICE = '/grpc.health.v1.Health/';

export function createCallGuard(
  deps: CallGuardDeps & { readonly watch: CallWatch },
  options: CallGuardOptions,
): ServerInterceptor {
  return (method, call) => {
    const ended = createEndRecorder(deps, method);
    let request: Timer | undefined;
    const awaitRequest = (): void => {
      if (method.requestStream) return;
      request = deps.clock.setTimer(options.requestTimeoutMs, () => {
        deps.limits.reached('server', 'grpcRequestTimeoutMs');
        ended(GRPC_STATUS.DEADLINE_EXCEEDED);
        call.sendStatus(statusOf(lateRequest(options.requestTimeoutMs)));
      });
    };
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata(metadata, pass) {
            const refusal = refusalOf(deps, method, call, metadata);
            if (refusal === undefined) {
              awaitRequest();
              return pass(metadata);
            }
            ended(refusal.code);
            call.sendStatus(refusal);
          },
          onReceiveHalfClose(pass) {
            request?.cancel();
            pass();
          },
          onCancel() {
            request?.cancel();
            ended(GRPC_STATUS.CANCELLED);
          },
        }),
      sendStatus(ending, pass) {
        ended(ending.code ?? GRPC_STATUS.UNKNOWN);
        pass(ending);
      },
    });
  };
}

function refusalOf(
  deps: CallGuardDeps & { readonly watch: CallWatch },
  method: Method,
  call: ServerInterceptingCallInterface,
  metadata: Metadata,
) {
  if (isCompressed(call)) {
    const error = new SynclineError('invalid-argument', 'compressed messages are not supported');
    return { ...statusOf(error), code: GRPC_STATUS.UNIMPLEMENTED };
  }
  if (method.path.startsWith(OPEN_SERVICE)) return undefined;
  const peer = call.getPeer();
  if (deps.watch.isBlocked(peer)) return statusOf(tooManyGuesses());
  const authorization = metadata.get('authorization')[0]?.toString();
  if (deps.isTokenValid(authorization)) {
    deps.watch.trusted(peer);
    return undefined;
  }
  if (authorization !== undefined) deps.watch.guessed(peer);
  deps.metrics.add('syncline_server_auth_failures_total', 1, { listener: 'grpc' });
  return statusOf(tokenError(authorization));
}

/** grpc-js removes the header before interceptors run, and stores it in this field. A test relies on that. */
function isCompressed(call: ServerInterceptingCallInterface): boolean {
  return 'incomingEncoding' in call && call.incomingEncoding !== 'identity';
}

function lateRequest(timeoutMs: number): SynclineError {
  return new SynclineError('timeout', `the request did not arrive within ${timeoutMs} ms`, {
    details: { limit: 'grpcRequestTimeoutMs' },
  });
}

/** Only the first end counts: after a status, grpc-js also reports a cancellation. */
function createEndRecorder(deps: CallGuardDeps, { path, requestStream, responseStream }: Method) {
  const startMs = deps.clock.monotonicMs();
  let hasEnded = false;
  return (code: number): void => {
    if (hasEnded) return;
    hasEnded = true;
    const labels = { method: path, status: grpcStatus[code] ?? 'UNKNOWN' };
    deps.metrics.add('syncline_server_grpc_calls_total', 1, labels);
    if (requestStream || responseStream) return;
    const seconds = (deps.clock.monotonicMs() - startMs) / 1000;
    deps.metrics.observe('syncline_server_grpc_call_seconds', seconds, { method: path });
  };
}
