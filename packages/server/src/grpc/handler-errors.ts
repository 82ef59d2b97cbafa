// Between grpc-js and a slice's handlers, so that every way to fail ends in a proper status.
//
// grpc-js looks at neither a returned promise nor the kind of an error: a rejected handler would be an
// unhandled rejection, and a SynclineError an UNKNOWN.
import type {
  Metadata,
  ServerDuplexStream,
  ServerWritableStream,
  StatusObject,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Logger } from '@syncline/kernel';
import { statusFrom } from './call-status.js';
import type { GrpcService } from './grpc-service.js';

type Callback = (error: unknown, value?: unknown, trailer?: Metadata, flags?: number) => void;
type Handler = (call: unknown, callback: Callback) => unknown;
type StreamingCall = ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>;

export function guardHandlers(service: GrpcService, logger: Logger): UntypedServiceImplementation {
  const guarded: UntypedServiceImplementation = {};
  for (const [name, method] of Object.entries(service.definition)) {
    const { originalName = name } = method;
    const handler = service.implementation[name] ?? service.implementation[originalName];
    if (handler === undefined) continue; // grpc-js answers UNIMPLEMENTED
    const toStatus = (thrown: unknown) => statusFrom(thrown, logger, { method: method.path });
    const wrap = method.responseStream ? guardStreaming : guardSingle;
    const bound = handler.bind(service.implementation) as Handler;
    guarded[name] = wrap(bound, toStatus) as UntypedHandleCall;
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
