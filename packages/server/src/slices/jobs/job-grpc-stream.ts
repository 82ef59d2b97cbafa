// Connects a gRPC Subscribe call to a subscription of the store.
//
//   pull   -> only while the wire has room: a client that does not read costs one frame here and a cursor in the store
//   write  -> counts the bytes passed to gRPC that the client has not received yet; grpc-js itself would count 16
//             messages, each of which may have a quarter of a megabyte
//   end    -> when the job is deleted, the client disconnects, or the server stops and tells the client to resume
import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import type { Cursor, JobStore, StoreSubscribeOptions } from '@syncline/jobs';
import { jobsLimits } from '@syncline/jobs';
import {
  type EncodedEvent,
  framesOf,
  localStore,
  type SubscribeRequest,
} from '@syncline/jobs/grpc';
import { type Clock, SynclineError } from '@syncline/kernel';

export type SubscribeCall = ServerWritableStream<Uint8Array, Uint8Array>;

export interface SubscribeDeps {
  readonly store: JobStore;
  readonly beat: FrameBeat;
  readonly streams: OpenStreams;
}

/** Batches are also limited in bytes, so that one pull makes about one frame. */
const PULL_EVENTS = jobsLimits.frameEventsMax.value;

/** Resolves when the stream has ended. Rejects with the error that the call must end with. */
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
    const subscription = localStore(store).subscribeEncoded(request.jobId, options);
    call.sendMetadata(new Metadata()); // tells the client that it is connected
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

/** Whether these are a few live changes, with more likely to follow shortly. A replay never waits for a beat. */
function isTrickle(events: readonly EncodedEvent[]): boolean {
  return events.length < PULL_EVENTS && events.at(-1)?.kind === 'change';
}

function stopping(): SynclineError {
  return new SynclineError('unavailable', 'the server is stopping; resume from the last cursor');
}

function optionsOf(request: SubscribeRequest, signal: AbortSignal): StoreSubscribeOptions {
  const { scope, after, overflow, bufferEvents, bufferBytes } = request;
  return {
    scope,
    ...(after === undefined ? {} : { after: after as Cursor }),
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

/** Counts the bytes in flight to one client. */
class Wire {
  readonly #call: SubscribeCall;
  #bytesInFlight = 0;
  #isReleased = false;
  #resume: (() => void) | undefined;

  constructor(call: SubscribeCall) {
    this.#call = call;
  }

  /** Returns false if the caller must wait for `drained`. */
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

  /** Stops waiting for the client. */
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

// When streams send: in beats, and a few at a time.
//
// Beat   Events within a few milliseconds are sent together, and 1,000 streams share one timer. A stream that has just
//        sent waits for the next beat before it pulls more events. An idle stream sends its next event at once, so
//        only streams with many events are delayed. The cost of a frame hardly depends on its size, so the longer a
//        beat took to send, the longer the next one waits: sending takes a fifth of the time, and a busy server sends
//        fewer and larger frames instead of falling behind.
// Turn   Only a few streams send in one turn of the event loop, including those that are behind and have more to send:
//        replies to writes must not wait for all of them.

/** How much longer than sending the wait for the next beat is. */
const WAITS_PER_SENDING = 4;

export class FrameBeat {
  /** Streams that send the same events in a beat share the frames. */
  readonly frames = new FrameCache();
  readonly #clock: Clock;
  /** Waiting for the next beat. */
  #waiting: (() => void)[] = [];
  /** Waiting for their turn, in order. */
  readonly #due: (() => void)[] = [];
  /** From the first stream that waits until all streams of the beat have sent. */
  #isBeating = false;
  #isTurning = false;
  #waitMs: number = jobsLimits.frameWaitMs.value;

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** Waits for more events: resolves within `frameWaitMs`, or up to `frameWaitMaxMs` after the last beat has sent. */
  next(): Promise<void> {
    if (!this.#isBeating) this.#setTimer();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** For a stream that already has more to send. */
  turn(): Promise<void> {
    if (!this.#isTurning) {
      this.#isTurning = true;
      this.#clock.defer(() => this.#turn());
    }
    return new Promise((resolve) => this.#due.push(resolve));
  }

  #setTimer(): void {
    this.#isBeating = true;
    this.#clock.setTimer(this.#waitMs, () => {
      const startMs = this.#clock.monotonicMs();
      for (const wake of this.#waiting) this.#due.push(wake);
      this.#waiting = [];
      this.#due.push(() => this.#clock.defer(() => this.#endBeat(startMs)));
      if (!this.#isTurning) this.#turn();
    });
  }

  #turn(): void {
    for (const wake of this.#due.splice(0, jobsLimits.frameStreamsMax.value)) wake();
    // By the next turn they have sent, and pending I/O has been handled.
    this.#isTurning = this.#due.length > 0;
    if (this.#isTurning) this.#clock.defer(() => this.#turn());
  }

  #endBeat(startMs: number): void {
    const { frameWaitMs, frameWaitMaxMs } = jobsLimits;
    const wantedMs = WAITS_PER_SENDING * (this.#clock.monotonicMs() - startMs);
    this.#waitMs = Math.min(Math.max(wantedMs, frameWaitMs.value), frameWaitMaxMs.value);
    this.#isBeating = false;
    this.frames.clear();
    if (this.#waiting.length > 0) this.#setTimer();
  }
}

interface MadeFrames {
  readonly events: readonly EncodedEvent[];
  readonly frames: readonly Uint8Array[];
}

/**
 * Frames shared by subscribers of the same scope at the same position. They are looked up by their last event, then
 * compared event by event. Comparing references is enough, since all subscribers of a store share the change objects.
 */
class FrameCache {
  /** Batches of different scopes may end with the same event but differ before it. */
  readonly #byLast = new Map<EncodedEvent, MadeFrames[]>();
  #bytes = 0;

  /** The events as frames of bounded size, in order. They are shared and must not be modified. */
  framesOf(events: readonly EncodedEvent[]): readonly Uint8Array[] {
    const last = events.at(-1);
    if (last?.kind !== 'change') return [...framesOf(events)]; // rarely shared
    const there = this.#byLast.get(last) ?? [];
    const same = there.find((made) => isSame(made.events, events));
    if (same !== undefined) return same.frames;
    const frames = [...framesOf(events)];
    const bytes = frames.reduce((sum, { length }) => sum + length, 0);
    const { value: bytesMax } = jobsLimits.sharedFramesBytesMax;
    if (this.#bytes + bytes > bytesMax) this.clear();
    if (bytes > bytesMax) return frames;
    this.#bytes += bytes;
    this.#byLast.set(last, [...(this.#byLast.get(last) ?? []), { events, frames }]);
    return frames;
  }

  clear(): void {
    this.#byLast.clear();
    this.#bytes = 0;
  }
}

function isSame(some: readonly EncodedEvent[], others: readonly EncodedEvent[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false;
  return true;
}

/**
 * The open streams, so that a server that stops can end them all at once. Adding thousands of listeners to one signal
 * would be slow, and Node warns about it.
 */
export class OpenStreams {
  readonly #ends = new Set<() => void>();
  readonly #draining: AbortSignal;

  constructor({ draining }: { readonly draining: AbortSignal }) {
    this.#draining = draining;
    draining.addEventListener('abort', () => this.#endAll(), { once: true });
  }

  get isDraining(): boolean {
    return this.#draining.aborted;
  }

  /** `end` is called once, when the server starts to stop. */
  add(end: () => void): void {
    this.#ends.add(end);
  }

  delete(end: () => void): void {
    this.#ends.delete(end);
  }

  #endAll(): void {
    for (const end of this.#ends) end();
  }
}
