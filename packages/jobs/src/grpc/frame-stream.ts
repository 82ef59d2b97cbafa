// One Subscribe call, read frame by frame. What is not pulled stays on the wire: grpc-js holds 16 frames at most,
// and HTTP/2 flow control holds the server.
import type { ClientReadableStream, StatusObject } from '@grpc/grpc-js';
import { type Clock, SynclineError, type Timer } from '@syncline/kernel';
import type { GrpcTarget } from '@syncline/protocol';
import { jobsLimits } from '../limits.js';
import { type SubscribeRequest, subscribe } from '../wire/calls.js';
import type { ChannelSlot } from './channel-pool.js';
import { errorOfStatus } from './status-error.js';

const OK = 0;

export interface FrameStreamDeps {
  readonly clock: Clock;
  readonly target: GrpcTarget;
  readonly slot: ChannelSlot;
}

export class FrameStream {
  readonly #deps: FrameStreamDeps;
  readonly #call: ClientReadableStream<Uint8Array>;
  readonly #connectTimer: Timer;
  #end: { readonly error: SynclineError | undefined } | undefined;
  #status: StatusObject | undefined;
  #wake: (() => void) | undefined;

  constructor(deps: FrameStreamDeps, request: SubscribeRequest) {
    this.#deps = deps;
    const { value: timeoutMs } = jobsLimits.remoteConnectTimeoutMs;
    this.#connectTimer = deps.clock.setTimer(timeoutMs, () => this.#giveUp(timeoutMs));
    this.#call = deps.slot.channel.stream(subscribe, request);
    this.#call.on('metadata', () => this.#connectTimer.cancel());
    this.#call.on('readable', () => this.#wake?.());
    this.#call.on('error', () => undefined); // the status tells the same
    this.#call.on('status', (status: StatusObject) => {
      this.#status = status;
    });
    this.#call.on('end', () => this.#finish(this.#statusError()));
  }

  /** Undefined at the end. Throws what ended the stream, once all frames before it are read. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const frame: Uint8Array | null = this.#call.read();
      if (frame !== null) return frame;
      if (this.#end?.error !== undefined) throw this.#end.error;
      if (this.#end !== undefined) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Whoever waits for a frame learns that there is none. */
  cancel(): void {
    this.#finish(undefined);
    this.#call.cancel();
  }

  #statusError(): SynclineError | undefined {
    const status = this.#status;
    if (status?.code === OK) return undefined;
    return errorOfStatus(status ?? null, this.#deps.target);
  }

  #giveUp(timeoutMs: number): void {
    const { address } = this.#deps.target;
    const message = `no connection to the job service at ${address} within ${timeoutMs} ms. Check the address, and TLS on both sides.`;
    this.#finish(new SynclineError('unavailable', message, { details: { address } }));
    this.#call.cancel();
  }

  #finish(error: SynclineError | undefined): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    this.#connectTimer.cancel();
    this.#deps.slot.release();
    this.#wake?.();
  }
}
