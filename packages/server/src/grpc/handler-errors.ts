// Wraps the handlers of a slice, so that every failure ends in a proper status.
//
// grpc-js ignores returned promises and knows nothing of our errors: a rejection would be unhandled, and a
// SynclineError would become UNKNOWN. A call with a single answer starts only when its connection has room for
// the answer: otherwise a client that never reads could fill the memory.
import type {
  Metadata,
  ServerDuplexStream,
  ServerUnaryCall,
  ServerWritableStream,
  StatusObject,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Logger } from '@syncline/kernel';
import { serverLimits } from '../limits.js';
import type { UnsentConnection } from '../unsent-watch.js';
import { statusFrom } from './call-status.js';
import type { GrpcService } from './grpc-service.js';

type Callback = (error: unknown, value?: unknown, trailer?: Metadata, flags?: number) => void;
type Handler = (call: unknown, callback: Callback) => unknown;
type StreamingCall = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>;

export interface GuardHandlersDeps {
  readonly logger: Logger;
  /** Undefined if the connection of this peer has ended. */
  unsentOf(peer: string): UnsentConnection | undefined;
}

export function guardHandlers(
  service: GrpcService,
  deps: GuardHandlersDeps,
): UntypedServiceImplementation {
  const { logger, unsentOf } = deps;
  const guarded: UntypedServiceImplementation = {};
  for (const [name, method] of Object.entries(service.definition)) {
    const { originalName = name } = method;
    const handler = service.implementation[name] ?? service.implementation[originalName];
    if (handler === undefined) continue; // grpc-js answers UNIMPLEMENTED
    const toStatus = (thrown: unknown) => statusFrom(thrown, logger, { method: method.path });
    const bound = handler.bind(service.implementation) as Handler;
    const bytes = service.answerBytesMax?.[name] ?? serverLimits.grpcAnswerBytes.value;
    const single = (): Handler => withRoom(bound, { bytes, unsentOf });
    guarded[name] = (
      method.responseStream ? guardStreaming(bound, toStatus) : guardSingle(single(), toStatus)
    ) as UntypedHandleCall;
  }
  return guarded;
}

type ToStatus = (thrown: unknown) => Partial<StatusObject>;

function guardSingle(handler: Handler, toStatus: ToStatus) {
  return (call: unknown, callback: Callback): void => {
    const fail = (thrown: unknown): void => callback(toStatus(thrown));
    const answer: Callback = (error, value, trailer, flags) => {
      if (error === null || error === undefined) callback(null, value, trailer, flags);
      else fail(error);
    };
    void runHandler(() => handler(call, answer), fail);
  };
}

/** Reserves room for the answer from the start of the call until the answer is counted as unsent. */
function withRoom(
  handler: Handler,
  { bytes, unsentOf }: { readonly bytes: number; readonly unsentOf: GuardHandlersDeps['unsentOf'] },
): Handler {
  return async (call, callback) => {
    const unsent = unsentOf((call as ServerUnaryCall<unknown, unknown>).getPeer());
    const waiting = unsent?.reserve(bytes);
    if (waiting) await waiting;
    try {
      await handler(call, callback);
    } finally {
      unsent?.release(bytes);
    }
  };
}

function guardStreaming(handler: Handler, toStatus: ToStatus) {
  return (call: StreamingCall): void => {
    // grpc-js turns an error event into the status that ends the call.
    void runHandler(
      () => handler(call, () => undefined),
      (thrown) => void call.emit('error', toStatus(thrown)),
    );
  };
}

async function runHandler(run: () => unknown, fail: (thrown: unknown) => void): Promise<void> {
  try {
    await run();
  } catch (thrown) {
    fail(thrown);
  }
}
