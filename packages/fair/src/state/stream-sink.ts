// The two ends of a stream as the state service sees them. The gRPC shell, the simulation and tests
// implement the sink; the service hands out the stream.
import type { SynclineError } from '@syncline/kernel';
import type { MaybePromise } from './fair-store.js';

export interface StreamSink {
  /** Takes the message, always. False: it is full; nothing more is written until `drained` is called. */
  write(message: Uint8Array): boolean;
  /** Ends the stream: in good order, or with an error. Nothing is written afterwards. */
  end(error?: SynclineError): void;
}

export interface StateStream {
  /**
   * One message of the client. Never throws: a bad message ends the stream by `sink.end`. While a returned
   * promise is open the shell hands in no further message, so that the peer's flow control takes hold.
   */
  receive(message: Uint8Array): MaybePromise<void>;
  /** The sink can take messages again. */
  drained(): void;
  /** The client is gone, or has ended its side. Nothing is written afterwards. */
  closed(): void;
}
