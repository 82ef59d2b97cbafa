// One Sync call of gRPC and one stream of the state service, tied together.
//
//   data   -> receive; while it is at work the call is paused, and HTTP/2 flow control holds the client
//   write  -> bytes passed to gRPC and not yet read by the client are counted: above the mark the service waits, so a client that does not read costs no more than that
//   end    -> the service has ended the stream (status), the client its side, or the connection is gone
//
// grpc-js would count messages, 16 of them, and one may have a third of a megabyte.
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { fairLimits, type StateService, type StateStream, type StreamSink } from '@syncline/fair';
import type { SynclineError } from '@syncline/kernel';
import { GRPC_STATUS } from '@syncline/protocol';
import { statusOf } from '../../grpc/call-status.js';

export type SyncCall = ServerDuplexStream<Uint8Array, Uint8Array>;

export interface SyncCallDeps {
  readonly service: StateService;
  /** Counts that a limit ended a stream. */
  limitReached(limit: string): void;
}

export interface SyncCallOptions {
  /** Bytes in flight to a client above which the service waits. */
  readonly bytesInFlightMax: number;
}

/** Lasts as long as the stream. Rejects with the error that ends the call. */
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
  const atWork = stream.receive(message);
  if (atWork === undefined) return;
  call.pause();
  await atWork;
  call.resume();
}

/** A client replaced by a newer stream of the same name gets ABORTED, as the contract says. */
function failureOf(error: SynclineError): unknown {
  if (error.code !== 'fenced') return error;
  return { ...statusOf(error), code: GRPC_STATUS.ABORTED };
}
