// The writes of a remote store. All writes made in one turn of the event loop are sent as one message, and many can be
// in flight: a separate call for each would cost about three times as much on both sides.
//
// A stream is opened by the first write and ended after a period without writes. The server limits the bytes of
// unanswered writes, so they are counted here, also those that were given up but have no reply yet.
import type { ClientDuplexStream, StatusObject } from '@grpc/grpc-js';
import { abortedError, SynclineError, type Timer } from '@syncline/kernel';
import { decode, encode } from '@syncline/kernel/wire';
import { errorFromGrpc } from '@syncline/protocol';
import { type GrpcTarget, isCallRefused } from '@syncline/protocol/grpc';
import { overloaded } from '../checks/values.js';
import type { EncodedResult } from '../engine/checked-job-store.js';
import { limitValues } from '../limits.js';
import {
  checkRequestBytes,
  ENVELOPE_BYTES,
  jobCalls,
  type NumberedAnswer,
  windowBytesOf,
} from '../wire/calls.js';
import {
  type ChannelDeps,
  closedError,
  contractError,
  errorOfStatus,
  type JobChannel,
} from './job-channel.js';

export type RemoteWritesDeps = ChannelDeps & Readonly<{ channel: JobChannel }>;

export class RemoteWrites {
  readonly #deps: RemoteWritesDeps;
  readonly #unsettled = new Set<PendingWrite>();
  /** The unsettled writes that were not sent yet. */
  readonly #waiting = new Set<PendingWrite>();
  #waitingBytes = 0;
  #call: WriteCall | undefined;
  /** Includes calls that have ended on this side but not yet on the server. */
  readonly #calls = new Set<WriteCall>();
  #nextNumber = 1;
  #planned: Timer | undefined;
  #idleTimer: Timer | undefined;

  constructor(deps: RemoteWritesDeps) {
    this.#deps = deps;
  }

  /** `write` is a SetStateRequest. */
  async ask(write: Uint8Array, signal: AbortSignal | undefined): Promise<EncodedResult> {
    const waiting = 'are waiting to be sent. Wait for earlier writes to finish.';
    const { remoteWritesMax, remoteWritesBytesMax } = limitValues;
    if (this.#waiting.size >= remoteWritesMax)
      throw overloaded('remoteWritesMax', `writes ${waiting}`);
    checkRequestBytes(setState.name, write); // one that fits into no message would block all behind it
    const bytes = windowBytesOf(write);
    if (this.#waitingBytes + bytes > remoteWritesBytesMax)
      throw overloaded('remoteWritesBytesMax', `bytes of writes ${waiting}`);
    return new Promise((resolve, reject) => {
      const { clock, target } = this.#deps;
      const abort = (): void => {
        if (signal) this.#giveUp(pending, abortedError(setState.name, signal));
      };
      const pending: PendingWrite = {
        number: this.#nextNumber,
        write,
        bytes,
        settle: (result) => {
          if (!this.#unsettled.delete(pending)) return;
          if (this.#waiting.delete(pending)) this.#waitingBytes -= bytes;
          timer.cancel();
          signal?.removeEventListener('abort', abort);
          if (this.#unsettled.size === 0 && this.#call !== undefined) this.#awaitIdle();
          if (result instanceof SynclineError) reject(result);
          else resolve(result);
        },
      };
      const giveUp = () => this.#giveUp(pending, late(target));
      const timer = clock.setTimer(limitValues.remoteCallTimeoutMs, giveUp);
      signal?.addEventListener('abort', abort);
      this.#nextNumber += 1;
      this.#unsettled.add(pending);
      this.#waiting.add(pending);
      this.#waitingBytes += bytes;
      this.#plan();
    });
  }

  close(): void {
    for (const write of this.#unsettled) this.#giveUp(write, closedError());
    this.#planned?.cancel();
    this.#idleTimer?.cancel();
    for (const call of this.#calls) call.cancel();
  }

  /** Once sent, it is unknown whether the write has arrived. */
  #giveUp(write: PendingWrite, error: SynclineError): void {
    write.settle(error.withOutcome(this.#waiting.has(write) ? 'not-applied' : 'unknown'));
  }

  /** Flushes at the end of this turn of the event loop, so that writes made together are sent together. */
  #plan(): void {
    this.#planned ??= this.#deps.clock.defer(() => {
      this.#planned = undefined;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#waiting.size > 0) {
      this.#idleTimer?.cancel();
      this.#call ??= this.#open();
      const bytesMax = Math.min(this.#call.roomBytes, MESSAGE_BYTES_MAX);
      const writes: PendingWrite[] = [];
      let bytes = 0;
      for (const write of this.#waiting) {
        bytes += write.bytes;
        if (bytes > bytesMax) break;
        writes.push(write);
        this.#waiting.delete(write);
        this.#waitingBytes -= write.bytes;
      }
      if (writes.length === 0) return; // continued when there is room
      this.#call.send(writes);
    }
  }

  #open(): WriteCall {
    const opened = new WriteCall(this.#deps, (call) => {
      if (call.state === 'ended') this.#calls.delete(call);
      if (call.state !== 'open' && call === this.#call) {
        this.#call = undefined;
        this.#idleTimer?.cancel();
      }
      if (this.#waiting.size > 0) this.#plan();
    });
    this.#calls.add(opened);
    return opened;
  }

  #awaitIdle(): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#deps.clock.setTimer(limitValues.writeStreamIdleMs, () => {
      this.#call?.finish();
      this.#call = undefined;
    });
  }
}

/** A write without a reply. */
interface PendingWrite {
  readonly number: number;
  readonly write: Uint8Array;
  /** Its size in a message and in the window, counted as the server does. */
  readonly bytes: number;
  /** With the reply, or an error that includes the outcome. Only the first call counts. */
  settle(result: EncodedResult | SynclineError): void;
}

/** One SetStates call: sends numbered writes, and receives a reply for each number. */
class WriteCall {
  readonly #target: GrpcTarget;
  readonly #onChange: (call: WriteCall) => void;
  readonly #call: ClientDuplexStream<Uint8Array, Uint8Array>;
  readonly #unanswered = new Map<number, PendingWrite>();
  #unansweredBytes = 0;
  #isBlocked = false;
  /** The server has accepted the call: it sends headers at once, but none if it refuses the call. */
  #isBegun = false;
  /** Undefined as long as it has not failed. */
  #failure: StatusObject | undefined;
  /** Once `over`, it accepts no more writes. */
  state: 'open' | 'over' | 'ended' = 'open';

  /** `onChange` is called when replies have arrived, the stream can take more, or the state has changed. */
  constructor({ channel, target }: RemoteWritesDeps, onChange: (call: WriteCall) => void) {
    this.#target = target;
    this.#onChange = onChange;
    this.#call = channel.duplex(setStates);
    this.#call.on('metadata', () => {
      this.#isBegun = true;
    });
    this.#call.on('data', (bytes: Uint8Array) => this.#take(bytes));
    this.#call.on('drain', () => {
      this.#isBlocked = false;
      onChange(this);
    });
    this.#call.on('error', () => undefined); // also reported by the status
    this.#call.on('status', (status: StatusObject) => {
      if (status.code !== OK) this.#failure = status;
    });
    this.#call.on('end', () => this.#end());
  }

  get roomBytes(): number {
    return this.#isBlocked ? 0 : limitValues.writeStreamBytesMax - this.#unansweredBytes;
  }

  send(writes: readonly PendingWrite[]): void {
    for (const write of writes) {
      this.#unanswered.set(write.number, write);
      this.#unansweredBytes += write.bytes;
    }
    this.#isBlocked = !this.#call.write(encode(setStates.request, { writes }));
  }

  /** Call it when no write is waiting for a reply. A reply that never arrives must not keep the stream open. */
  finish(): void {
    if (this.#unanswered.size === 0) this.#call.end();
    else this.cancel();
  }

  cancel(): void {
    this.#call.cancel();
  }

  #take(bytes: Uint8Array): void {
    try {
      const { answers, end } = decode(setStates.response, bytes, setStates);
      for (const answer of answers) this.#settle(answer);
      if (end !== undefined) this.#leave('over', errorFromGrpc(end));
    } catch (thrown) {
      this.#leave('over', contractError(this.#target, thrown));
      this.cancel();
    }
    this.#onChange(this);
  }

  #settle({ number, response, failure }: NumberedAnswer): void {
    const write = this.#unanswered.get(number);
    if (write === undefined || !(response ?? failure)) {
      const message = `the reply to write ${number} is unexpected or empty`;
      throw new SynclineError('invalid-argument', message);
    }
    this.#unanswered.delete(number);
    this.#unansweredBytes -= write.bytes;
    try {
      if (failure) write.settle(errorFromGrpc(failure));
      else if (response) write.settle(decode(setState.response, response, setState));
    } catch (thrown) {
      write.settle(contractError(this.#target, thrown));
    }
  }

  #end(): void {
    const error = errorOfStatus(this.#failure, this.#target);
    const { address } = this.#target;
    const isRefused = !this.#isBegun && this.#failure && isCallRefused(this.#failure, address);
    this.#leave('ended', isRefused ? error : error.withOutcome('unknown'));
    this.#onChange(this);
  }

  #leave(state: 'over' | 'ended', error: SynclineError): void {
    this.state = state;
    for (const write of this.#unanswered.values()) write.settle(error);
    this.#unanswered.clear();
  }
}

const { setState, setStates } = jobCalls;
const OK = 0;

/** The largest write fits into a message, and into an empty window. */
const MESSAGE_BYTES_MAX = limitValues.requestBytesMax + ENVELOPE_BYTES;

function late({ address }: GrpcTarget): SynclineError {
  const { remoteCallTimeoutMs: timeoutMs } = limitValues;
  const message = `no reply from the job service at ${address} within ${timeoutMs} ms. Check that a server is running there, and the TLS settings on both sides.`;
  return new SynclineError('timeout', message, { details: { address } });
}
