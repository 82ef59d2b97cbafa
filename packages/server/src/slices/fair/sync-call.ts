// Connects a gRPC Sync call to a stream of the state service.
//
//   data   -> receive; while a message is being processed the call is paused, and HTTP/2 flow control stops the client
//   write  -> counts the bytes that the client has not read yet; above the limit the service waits, which bounds the
//             cost of a client that does not read
//   end    -> the service or the client has ended the stream, or the connection was lost
//
// grpc-js itself would allow 16 messages, each of which may have a third of a megabyte.
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { fairLimits, type StateService, type StateStream, type StreamSink } from '@syncline/fair';
import type { SynclineError } from '@syncline/kernel';
import { GRPC_STATUS } from '@syncline/protocol';
import { statusOf } from '../../grpc/call-status.js';

export type SyncCall = ServerDuplexStream<Uint8Array, Uint8Array>;

export interface SyncCallDeps {
  readonly service: StateService;
  /** Records that a limit ended a stream. */
  limitReached(limit: string): void;
}

export interface SyncCallOptions {
  /** If more bytes than this are in flight to a client, the service waits. */
  readonly bytesInFlightMax: number;
}

/** Settles when the stream ends. Rejects with the error that ends the call. */
export function runSyncCall(
  { service, limitReached }: SyncCallDeps,
  call: SyncCall,
  { bytesInFlightMax }: SyncCallOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let bytesInFlight = 0;
    let isFull = false;
    let isOver = false;
    const sent = (bytes: number): void => {
      bytesInFlight -= bytes;
      if (!isFull || bytesInFlight > 0 || isOver) return;
      isFull = false;
      stream.drained();
    };
    const finish = (): void => {
      isOver = true;
      call.end();
      resolve();
    };
    const sink: StreamSink = {
      write(message) {
        if (isOver) return true;
        bytesInFlight += message.length;
        call.write(message, () => sent(message.length));
        isFull = bytesInFlight >= bytesInFlightMax;
        return !isFull;
      },
      end(error) {
        if (isOver) return;
        if (error === undefined) {
          finish();
          return;
        }
        isOver = true;
        const { limit } = error.details;
        if (typeof limit === 'string' && limit in fairLimits) limitReached(limit);
        reject(failureOf(error));
      },
    };
    const stream = service.connect(sink);
    const gone = (): void => {
      if (isOver) return;
      stream.closed();
      finish();
    };
    call.on('data', (message: Uint8Array) => {
      if (!isOver) void receive(stream, call, message);
    });
    call.on('end', gone);
    call.on('cancelled', gone);
  });
}

async function receive(stream: StateStream, call: SyncCall, message: Uint8Array): Promise<void> {
  const processing = stream.receive(message);
  if (processing === undefined) return;
  call.pause();
  await processing;
  call.resume();
}

/** A stream that was replaced by a newer one of the same client ends with ABORTED, as the contract specifies. */
function failureOf(error: SynclineError): unknown {
  if (error.code !== 'fenced') return error;
  return { ...statusOf(error), code: GRPC_STATUS.ABORTED };
}
