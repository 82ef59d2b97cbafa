// The two ends of a stream as the state service sees them. The gRPC adapter, the simulation and tests implement
// the sink; the service returns the stream.
import type { SynclineError } from '@syncline/kernel';
import type { MaybePromise } from './fair-store.js';

export interface StreamSink {
  /** Always accepts the message. False: it is full; nothing more is written until `drained` is called. */
  write(message: Uint8Array): boolean;
  /** Ends the stream, cleanly or with an error. Nothing is written afterwards. */
  end(error?: SynclineError): void;
}

export interface StateStream {
  /**
   * One message of the client. Never throws: a bad message ends the stream by `sink.end`. While a returned
   * promise is pending the adapter passes no further message, so that flow control stops the peer.
   */
  receive(message: Uint8Array): MaybePromise<void>;
  /** The sink has room again. */
  drained(): void;
  /** The client is gone, or has ended its side. Nothing is written afterwards. */
  closed(): void;
}
