// One SetStates call: each write is started as it arrives, and answered when the store has replied.
//
//   hold    -> a client knows how many bytes of writes may be without an answer. One that sends twice as many does not
//              read, and the stream ends
//   begin   -> in the order of the stream, while there is room for the answers: one that misses `ifVersion` carries the
//              state that is there, which may be far larger than the write. So a write is begun only when what lies
//              unsent, and what the writes in progress may add to it, is within bounds. Further writes wait as bytes
//   answer  -> those of one turn leave as one message, as far as they fit
//   end     -> no further writes are begun, those in flight are answered, and the last message says why. So what has
//              no answer was not begun. The status is OK: grpc-js drops messages that come before another one
import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { jobsLimits } from '@syncline/jobs';
import {
  type EncodedResult,
  jobCalls,
  type NumberedAnswer,
  type NumberedWrite,
  type WriteFields,
  windowBytesOf,
} from '@syncline/jobs/grpc';
import { type Clock, SynclineError } from '@syncline/kernel';
import { decode, encode } from '@syncline/kernel/wire';
import { grpcFailureOf } from '@syncline/protocol';
import type { OpenStreams } from './job-grpc-stream.js';

const { setState, setStates } = jobCalls;

export type SetStatesCall = ServerDuplexStream<Uint8Array, Uint8Array>;

export interface SetStatesDeps {
  readonly clock: Clock;
  readonly streams: OpenStreams;
  /** Streams of writes on each connection. */
  readonly countByPeer: Map<string, number>;
  parse(request: Uint8Array): WriteFields;
  setState(request: WriteFields): Promise<EncodedResult>;
  /** The error as a client sees it. */
  failureOf(thrown: unknown): unknown;
}

/** Lasts as long as the stream. Rejects only because of a bug. */
export async function runSetStatesCall(deps: SetStatesDeps, call: SetStatesCall): Promise<void> {
  const { streams, countByPeer } = deps;
  const peer = call.getPeer();
  const count = (countByPeer.get(peer) ?? 0) + 1;
  if (count > jobsLimits.writeStreamsPerConnectionMax.value) throw deps.failureOf(tooMany());
  countByPeer.set(peer, count);
  call.on('close', () => {
    const left = (countByPeer.get(peer) ?? 1) - 1;
    if (left === 0) countByPeer.delete(peer);
    else countByPeer.set(peer, left);
  });
  const end = await new Promise<CallEnd>((resolve) => {
    const writes = new WritesOfCall(deps, call, (reached) => {
      streams.delete(stop);
      resolve(reached);
    });
    const stop = (): void => writes.end({ kind: 'failed', error: stopping() });
    streams.add(stop);
    writes.start();
    if (streams.isDraining) stop();
  });
  if (end.kind === 'bug') throw end.thrown;
  if (end.kind === 'failed') {
    call.write(encode(setStates.response, { answers: [], end: grpcFailureOf(end.error) }));
  }
  call.end();
}

type CallEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: SynclineError }
  | { readonly kind: 'bug'; readonly thrown: unknown };

/** An answer that waits to be sent, and the bytes of its write. */
type HeldAnswer = NumberedAnswer & Readonly<{ writeBytes: number; answerBytes: number }>;

const { value: WINDOW_BYTES } = jobsLimits.writeStreamBytesMax;
const HELD_BYTES_MAX = 2 * WINDOW_BYTES;
/** Bytes of answers in a message and in flight. The last one may exceed it. */
const ANSWERS_BYTES_MAX = WINDOW_BYTES;
/** Bytes of unsent answers, and of those that writes in progress may become. */
const UNSENT_BYTES_MAX = jobsLimits.writeAnswersBytesMax.value;
/** The largest state, and its envelope. */
const STATE_BYTES_MAX = jobsLimits.payloadBytesMax.value + jobsLimits.messageBytesMax.value + 1_024;

class WritesOfCall {
  readonly #deps: SetStatesDeps;
  readonly #call: SetStatesCall;
  readonly #onEnd: (end: CallEnd) => void;
  /** Writes that wait until there is room for their answers. */
  #waiting: NumberedWrite[] = [];
  #answers: HeldAnswer[] = [];
  /** Bytes of messages that are not sent yet. */
  #unsentBytes = 0;
  /** Bytes that answers take, or may take. */
  #answersBytes = 0;
  #isPlanned = false;
  #isGone = false;
  #runningCount = 0;
  /** Bytes of writes that are in progress, or whose answers are unsent. */
  #heldBytes = 0;
  #end: CallEnd | undefined;
  #hasEnded = false;

  constructor(deps: SetStatesDeps, call: SetStatesCall, onEnd: (end: CallEnd) => void) {
    this.#deps = deps;
    this.#call = call;
    this.#onEnd = onEnd;
  }

  start(): void {
    this.#call.sendMetadata(new Metadata()); // the client knows now that it is connected
    this.#call.on('data', (bytes: Uint8Array) => this.#take(bytes));
    this.#call.on('end', () => this.end({ kind: 'done' }));
    this.#call.on('cancelled', () => {
      this.#isGone = true;
      this.#answers = []; // no one reads them
      this.#waiting = [];
      this.end({ kind: 'done' });
    });
  }

  /** The first one counts. */
  end(end: CallEnd): void {
    this.#end ??= end;
    this.#endWhenAnswered();
  }

  #take(bytes: Uint8Array): void {
    if (this.#end !== undefined) return;
    try {
      for (const numbered of decode(setStates.request, bytes, setStates).writes) {
        this.#hold(numbered);
        this.#beginNext(); // before the next one: that may exceed the limit, and end the stream
      }
    } catch (thrown) {
      const error = this.#deps.failureOf(thrown); // now, since a limit is counted when it is reached
      if (error instanceof SynclineError) this.end({ kind: 'failed', error });
      else this.#endWithBug(error);
    }
  }

  #hold(numbered: NumberedWrite): void {
    const bytes = windowBytesOf(numbered.write);
    if (this.#heldBytes + bytes > HELD_BYTES_MAX) throw unread();
    this.#heldBytes += bytes;
    this.#waiting.push(numbered);
  }

  #beginNext(): void {
    let begun = 0;
    for (const numbered of this.#waiting) {
      if (this.#answersBytes >= UNSENT_BYTES_MAX) break;
      begun += 1;
      this.#begin(numbered);
    }
    if (begun > 0) this.#waiting = this.#waiting.slice(begun);
  }

  #begin({ number, write }: NumberedWrite): void {
    const writeBytes = windowBytesOf(write);
    let reserved = writeBytes;
    this.#runningCount += 1;
    const end = (answer: Omit<NumberedAnswer, 'number'>, answerBytes: number): void => {
      this.#answersBytes += answerBytes - reserved;
      this.#answer({ number, ...answer, writeBytes, answerBytes });
    };
    const fail = (thrown: unknown): void => {
      const error = this.#deps.failureOf(thrown);
      if (!(error instanceof SynclineError)) {
        this.#runningCount -= 1;
        this.#endWithBug(error);
        return;
      }
      const failure = grpcFailureOf(error);
      end({ failure }, failure.details.length + writeBytes);
    };
    try {
      const request = this.#deps.parse(write);
      if (request.ifVersion !== undefined) reserved += STATE_BYTES_MAX;
      this.#answersBytes += reserved;
      this.#deps.setState(request).then((answered) => {
        const response = encode(setState.response, answered);
        end({ response }, response.length);
      }, fail);
    } catch (thrown) {
      this.#answersBytes += reserved;
      fail(thrown);
    }
  }

  /**
   * A bug has no answer: it ends the call, and the log has the details. It takes precedence over any other end, since
   * the last message would say that the write was not started.
   */
  #endWithBug(thrown: unknown): void {
    this.#end = { kind: 'bug', thrown };
    this.#endWhenAnswered();
  }

  #answer(held: HeldAnswer): void {
    this.#runningCount -= 1;
    if (!this.#isGone) this.#answers.push(held);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#deps.clock.defer(() => {
      this.#isPlanned = false;
      this.#flush();
    });
  }

  #flush(): void {
    try {
      while (this.#answers.length > 0 && this.#unsentBytes < ANSWERS_BYTES_MAX) this.#send();
    } catch (thrown) {
      this.#answers = [];
      this.#endWithBug(thrown);
    }
    this.#endWhenAnswered();
  }

  /** As many as fit into a message. */
  #send(): void {
    let count = 0;
    let writesBytes = 0;
    let answersBytes = 0;
    for (const { writeBytes, answerBytes } of this.#answers) {
      if (answersBytes >= ANSWERS_BYTES_MAX) break;
      count += 1;
      writesBytes += writeBytes;
      answersBytes += answerBytes;
    }
    const message = encode(setStates.response, { answers: this.#answers.slice(0, count) });
    this.#answers = this.#answers.slice(count);
    this.#unsentBytes += message.length;
    this.#call.write(message, () => {
      this.#unsentBytes -= message.length;
      this.#heldBytes -= writesBytes;
      this.#answersBytes -= answersBytes;
      this.#beginNext();
      this.#flush();
    });
  }

  #endWhenAnswered(): void {
    if (this.#end === undefined || this.#hasEnded) return;
    // The remaining writes are started, unless the stream ends for a reason: then they get no answer, and were not
    // started.
    if (this.#end.kind !== 'done') this.#waiting = [];
    if (this.#runningCount + this.#waiting.length + this.#answers.length > 0) return;
    this.#hasEnded = true;
    this.#onEnd(this.#end);
  }
}

function stopping(): SynclineError {
  return new SynclineError('unavailable', 'the server is stopping');
}

function tooMany(): SynclineError {
  const { value } = jobsLimits.writeStreamsPerConnectionMax;
  return new SynclineError(
    'limit-exceeded',
    `this connection has ${value} write streams, which is the limit. Send writes over those.`,
    { details: { limit: 'writeStreamsPerConnectionMax' } },
  );
}

function unread(): SynclineError {
  return new SynclineError(
    'limit-exceeded',
    `more than ${HELD_BYTES_MAX} bytes of writes are unanswered. Read replies before you send more writes.`,
    { details: { limit: 'writeStreamBytesMax' } },
  );
}
