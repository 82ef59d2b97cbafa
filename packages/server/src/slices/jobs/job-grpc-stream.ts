// One Subscribe call of gRPC and one subscription of the store, tied together.
//
//   pull   -> only while the wire has room: a client that does not read costs one frame here and one cursor there
//   write  -> bytes that were handed to gRPC and not yet taken by the client are counted; grpc-js itself would
//             count messages, 16 of them, and one may have a quarter of a megabyte
//   end    -> the job was deleted, the client has gone, or the server stops and says that it can be resumed
import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import type { Cursor, JobStore, StoreSubscribeOptions } from '@syncline/jobs';
import { jobsLimits } from '@syncline/jobs';
import { type EncodedEvent, encodedCalls, type SubscribeRequest } from '@syncline/jobs/grpc';
import { SynclineError } from '@syncline/kernel';
import type { FrameBeat } from './frame-beat.js';
import type { OpenStreams } from './open-streams.js';

export type SubscribeCall = ServerWritableStream<Uint8Array, Uint8Array>;

export interface SubscribeDeps {
  readonly store: JobStore;
  readonly beat: FrameBeat;
  readonly streams: OpenStreams;
}

/** A batch of a store is bounded in bytes too, so that one pull makes about one frame. */
const PULL_EVENTS = jobsLimits.frameEventsMax.value;

/** Lasts as long as the stream. Rejects with what the call must end with. */
export async function runSubscribeCall(
  { store, beat, streams }: SubscribeDeps,
  call: SubscribeCall,
  request: SubscribeRequest,
): Promise<void> {
  if (streams.isDraining) throw stopping();
  const stop = new AbortController();
  const wire = new Wire(call);
  const end = (): void => {
    stop.abort();
    wire.release();
  };
  call.on('cancelled', end);
  streams.add(end);
  try {
    const options = optionsOf(request, stop.signal);
    const subscription = encodedCalls(store).subscribe(request.jobId, options);
    call.sendMetadata(new Metadata()); // the client knows now that it is connected
    for await (const events of subscription.batches(PULL_EVENTS)) {
      for (const frame of beat.frames.framesOf(events)) {
        if (!wire.write(frame)) await wire.drained();
        if (stop.signal.aborted) break;
      }
      await (isTrickle(events) ? beat.next() : beat.turn());
    }
  } finally {
    streams.delete(end);
  }
  if (streams.isDraining && !call.cancelled) throw stopping();
  call.end();
}

/** Changes as they happen, a few at a time: more will come within a moment. A replay never waits for a beat. */
function isTrickle(events: readonly EncodedEvent[]): boolean {
  return events.length < PULL_EVENTS && events.at(-1)?.kind === 'change';
}

function stopping(): SynclineError {
  return new SynclineError('unavailable', 'the server is stopping; resume at the last cursor');
}

function optionsOf(request: SubscribeRequest, signal: AbortSignal): StoreSubscribeOptions {
  const { scope = {}, after, overflow, bufferEvents, bufferBytes } = request;
  return {
    scope,
    ...(after === '' ? {} : { after: after as Cursor }),
    include: [
      ...(request.includeLeases ? (['lease'] as const) : []),
      ...(request.includeJob ? (['job'] as const) : []),
    ],
    ...(overflow === undefined ? {} : { overflow }),
    buffer: {
      ...(bufferEvents === 0 ? {} : { maxEvents: bufferEvents }),
      ...(bufferBytes === 0 ? {} : { maxBytes: bufferBytes }),
    },
    signal,
  };
}

/** Counts the bytes on their way to one client. */
class Wire {
  readonly #call: SubscribeCall;
  #bytesInFlight = 0;
  #isReleased = false;
  #resume: (() => void) | undefined;

  constructor(call: SubscribeCall) {
    this.#call = call;
  }

  /** False: wait until it has drained. */
  write(bytes: Uint8Array): boolean {
    this.#bytesInFlight += bytes.length;
    this.#call.write(bytes, () => this.#sent(bytes.length));
    return this.#isReleased || this.#bytesInFlight < jobsLimits.frameBytesMax.value;
  }

  drained(): Promise<void> {
    if (this.#isReleased || this.#bytesInFlight === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** Nobody waits for the client any more. */
  release(): void {
    this.#isReleased = true;
    this.#resume?.();
  }

  #sent(bytesCount: number): void {
    this.#bytesInFlight -= bytesCount;
    if (this.#bytesInFlight > 0) return;
    this.#resume?.();
    this.#resume = undefined;
  }
}
