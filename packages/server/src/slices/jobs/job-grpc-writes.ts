// One SetStates call: each write that comes is begun at once, and answered when the store has answered.
//
//   begin   -> in the order of the stream; answers of one turn leave as one message, as far as they fit
//   hold    -> a client knows how many bytes of writes may be without an answer. Nobody is made to wait here: who
//              sends twice as many does not read, and the stream ends
//   answer  -> may be far larger than its write, with the payload of a state that was there before. So it becomes
//              bytes only when the wire takes it
//   end     -> no further writes are begun, those under way are answered, and the last message says why. So what has
//              no answer was not begun. The status is OK: grpc-js drops messages that come before another one
import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { jobsLimits } from '@syncline/jobs';
import {
  decodeWrites,
  encode,
  encodeAnswers,
  type NumberedAnswer,
  type NumberedWrite,
  type SetStateResponse,
  setState,
  windowBytesOf,
} from '@syncline/jobs/grpc';
import { type Clock, SynclineError } from '@syncline/kernel';
import { grpcFailureOf } from '@syncline/protocol';
import type { OpenStreams } from './open-streams.js';

export type SetStatesCall = ServerDuplexStream<Uint8Array, Uint8Array>;

export interface SetStatesDeps {
  readonly clock: Clock;
  readonly streams: OpenStreams;
  /** `request` is a SetStateRequest. */
  setState(request: Uint8Array): Promise<SetStateResponse>;
  /** What a client is told of an error. */
  failureOf(thrown: unknown): unknown;
}

/** Lasts as long as the stream. Rejects with a bug of ours alone. */
export async function runSetStatesCall(deps: SetStatesDeps, call: SetStatesCall): Promise<void> {
  const { streams } = deps;
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
    call.write(encodeAnswers({ answers: [], end: grpcFailureOf(end.error) }));
  }
  call.end();
}

type CallEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: SynclineError }
  | { readonly kind: 'bug'; readonly thrown: unknown };

/** An answer that waits for the wire. */
interface HeldAnswer {
  readonly number: number;
  /** Of its write. */
  readonly bytes: number;
  readonly answer:
    | { readonly kind: 'done'; readonly response: SetStateResponse }
    | (NumberedAnswer['answer'] & { readonly kind: 'failed' });
}

const { value: WINDOW_BYTES } = jobsLimits.writeStreamBytesMax;
const HELD_BYTES_MAX = 2 * WINDOW_BYTES;
/** Of answers, in a message and on the way to the wire. The last one may go beyond. */
const ANSWERS_BYTES_MAX = WINDOW_BYTES;

class WritesOfCall {
  readonly #deps: SetStatesDeps;
  readonly #call: SetStatesCall;
  readonly #onEnd: (end: CallEnd) => void;
  #answers: HeldAnswer[] = [];
  /** Of messages that the wire has not taken yet. */
  #unsentBytes = 0;
  #isPlanned = false;
  #isGone = false;
  #runningCount = 0;
  /** Of writes that are under way, or whose answers are. */
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
      this.#answers = []; // nobody reads them
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
      for (const numbered of decodeWrites(bytes)) this.#begin(numbered);
    } catch (thrown) {
      const error = this.#deps.failureOf(thrown); // now, since a limit is counted when it is reached
      if (error instanceof SynclineError) this.end({ kind: 'failed', error });
      else this.#endWithBug(error);
    }
  }

  #begin({ number, write }: NumberedWrite): void {
    const bytes = windowBytesOf(write);
    if (this.#heldBytes + bytes > HELD_BYTES_MAX) throw unread();
    this.#heldBytes += bytes;
    this.#runningCount += 1;
    this.#deps.setState(write).then(
      (response) => this.#answer({ number, bytes, answer: { kind: 'done', response } }),
      (thrown: unknown) => this.#fail(thrown, number, bytes),
    );
  }

  #fail(thrown: unknown, number: number, bytes: number): void {
    if (thrown instanceof SynclineError) {
      const failure = grpcFailureOf(thrown);
      this.#answer({ number, bytes, answer: { kind: 'failed', failure } });
      return;
    }
    this.#runningCount -= 1;
    this.#endWithBug(thrown);
  }

  /**
   * A bug of ours has no answer: it ends the call, and the log tells more. It counts before any other end, since the
   * last message would say that the write was not begun.
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
    const answers: NumberedAnswer[] = [];
    let writesBytes = 0;
    let answersBytes = 0;
    for (const { number, bytes, answer } of this.#answers) {
      if (answersBytes >= ANSWERS_BYTES_MAX) break;
      writesBytes += bytes;
      if (answer.kind === 'done') {
        const response = encode(setState.response, answer.response);
        answersBytes += response.length;
        answers.push({ number, answer: { kind: 'done', response } });
      } else {
        answersBytes += answer.failure.details.length;
        answers.push({ number, answer });
      }
    }
    this.#answers = this.#answers.slice(answers.length);
    const message = encodeAnswers({ answers });
    this.#unsentBytes += message.length;
    this.#call.write(message, () => {
      this.#unsentBytes -= message.length;
      this.#heldBytes -= writesBytes;
      this.#flush();
    });
  }

  #endWhenAnswered(): void {
    if (this.#end === undefined || this.#hasEnded) return;
    if (this.#runningCount > 0 || this.#answers.length > 0) return;
    this.#hasEnded = true;
    this.#onEnd(this.#end);
  }
}

function stopping(): SynclineError {
  return new SynclineError('unavailable', 'the server is stopping');
}

function unread(): SynclineError {
  return new SynclineError(
    'limit-exceeded',
    `more than ${HELD_BYTES_MAX} bytes of writes have no answer yet. Read answers before you send further writes.`,
    { details: { limit: 'writeStreamBytesMax' } },
  );
}
