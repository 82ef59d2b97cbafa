// The writes of a remote store. What is written in one turn leaves as one message, and many are in flight: a call
// each would cost about three times as much on both sides.
//
//   ask ─▶ waiting ─ the stream has room ─▶ sent ─▶ answered
//                                            └─ the stream is lost ─▶ failed, and nobody knows whether it has arrived
//
// A stream is opened by the first write and ended when there are none for a while, so that an idle store holds
// nothing open.
import { type Clock, SynclineError, type Timer } from '@syncline/kernel';
import type { GrpcTarget } from '@syncline/protocol';
import { jobsLimits } from '../limits.js';
import { type SetStateResponse, setState } from '../wire/calls.js';
import { ENVELOPE_BYTES } from '../wire/write-messages.js';
import { closedError, type JobChannel } from './job-channel.js';
import { PendingWrite } from './pending-write.js';
import { WriteCall } from './write-call.js';

export interface RemoteWritesDeps {
  readonly clock: Clock;
  readonly channel: JobChannel;
  readonly target: GrpcTarget;
}

export interface WriteRequest {
  /** A SetStateRequest. */
  readonly write: Uint8Array;
  readonly signal: AbortSignal | undefined;
}

export class RemoteWrites {
  readonly #deps: RemoteWritesDeps;
  /** In the order of their deadlines. */
  readonly #unsettled = new Set<PendingWrite>();
  #waiting: PendingWrite[] = [];
  /** What is written now goes there. */
  #call: WriteCall | undefined;
  /** With those that have ended for us, but not yet for the server. */
  readonly #calls = new Set<WriteCall>();
  #nextNumber = 1;
  #isPlanned = false;
  #deadlineTimer: Timer | undefined;
  #idleTimer: Timer | undefined;

  constructor(deps: RemoteWritesDeps) {
    this.#deps = deps;
  }

  ask(request: WriteRequest): Promise<SetStateResponse> {
    const { value: waitingMax } = jobsLimits.remoteWritesMax;
    if (this.#waiting.length >= waitingMax) return Promise.reject(overloaded(waitingMax));
    if (request.write.length > REQUEST_BYTES_MAX) return Promise.reject(tooLarge(request.write));
    return new Promise((resolve, reject) => {
      const deadlineMs = this.#deps.clock.monotonicMs() + jobsLimits.remoteCallTimeoutMs.value;
      const onSettled = (settled: PendingWrite): void => this.#settled(settled);
      const options = { ...request, number: this.#nextNumber, deadlineMs };
      const write = new PendingWrite({ resolve, reject, onSettled }, options);
      this.#nextNumber += 1;
      this.#unsettled.add(write);
      this.#waiting.push(write);
      this.#watchDeadlines();
      this.#plan();
    });
  }

  close(): void {
    for (const write of this.#unsettled) write.givenUp(closedError());
    this.#waiting = [];
    this.#idleTimer?.cancel();
    for (const call of this.#calls) call.cancel();
  }

  /** At the end of this turn, so that what is written together travels together. */
  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#deps.clock.defer(() => {
      this.#isPlanned = false;
      this.#flush();
    });
  }

  #flush(): void {
    this.#waiting = this.#waiting.filter(({ isSettled }) => !isSettled);
    while (this.#waiting.length > 0) {
      this.#idleTimer?.cancel();
      this.#call ??= this.#open();
      const writes = this.#takeWithin(Math.min(this.#call.roomBytes, MESSAGE_BYTES_MAX));
      if (writes.length === 0) return; // the stream says when it has room
      this.#call.send(writes);
    }
  }

  #takeWithin(bytesMax: number): readonly PendingWrite[] {
    let bytes = 0;
    let count = 0;
    for (const write of this.#waiting) {
      bytes += write.bytes;
      if (bytes > bytesMax) break;
      count += 1;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return taken;
  }

  #open(): WriteCall {
    const opened = new WriteCall({
      ...this.#deps,
      onRoom: () => {
        if (this.#waiting.length > 0) this.#plan();
      },
      onOver: (call) => {
        if (call !== this.#call) return;
        this.#call = undefined;
        this.#idleTimer?.cancel();
        if (this.#waiting.length > 0) this.#plan();
      },
      onEnd: (call) => void this.#calls.delete(call),
    });
    this.#calls.add(opened);
    return opened;
  }

  #awaitIdle(): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#deps.clock.setTimer(jobsLimits.writeStreamIdleMs.value, () => {
      this.#call?.finish();
      this.#call = undefined;
    });
  }

  #settled(write: PendingWrite): void {
    this.#unsettled.delete(write);
    if (this.#unsettled.size > 0) return;
    this.#deadlineTimer?.cancel();
    this.#deadlineTimer = undefined;
    if (this.#call !== undefined) this.#awaitIdle();
  }

  /** One timer, for the write that has waited longest. */
  #watchDeadlines(): void {
    const [oldest] = this.#unsettled;
    if (this.#deadlineTimer !== undefined || oldest === undefined) return;
    const waitMs = oldest.options.deadlineMs - this.#deps.clock.monotonicMs();
    this.#deadlineTimer = this.#deps.clock.setTimer(Math.max(0, waitMs), () => {
      this.#deadlineTimer = undefined;
      this.#expire();
      this.#watchDeadlines();
    });
  }

  #expire(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const write of this.#unsettled) {
      if (write.options.deadlineMs > nowMs) return;
      write.givenUp(late(this.#deps.target));
    }
  }
}

const { value: REQUEST_BYTES_MAX } = jobsLimits.requestBytesMax;

/** The largest write fits into a message, and into an empty window. */
const MESSAGE_BYTES_MAX = REQUEST_BYTES_MAX + ENVELOPE_BYTES;

/** In the words of the server. One that fits into no message would hold up all that wait behind it. */
function tooLarge({ length }: Uint8Array): SynclineError {
  return new SynclineError(
    'limit-exceeded',
    `a ${setState.name} request of ${length} bytes; ${REQUEST_BYTES_MAX} is the limit. Send less at once.`,
    { details: { limit: 'requestBytesMax' } },
  );
}

function overloaded(waitingMax: number): SynclineError {
  return new SynclineError(
    'overloaded',
    `${waitingMax} writes wait to be sent. Wait for earlier writes before the next.`,
    { details: { limit: 'remoteWritesMax' } },
  );
}

function late({ address }: GrpcTarget): SynclineError {
  const { value: timeoutMs } = jobsLimits.remoteCallTimeoutMs;
  const message = `the job service at ${address} gave no answer within ${timeoutMs} ms. Check that a server runs there, and TLS on both sides.`;
  return new SynclineError('timeout', message, { details: { address } });
}
