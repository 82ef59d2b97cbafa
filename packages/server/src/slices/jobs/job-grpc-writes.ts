// One SetStates call: each write that comes is begun at once, and answered when the store has answered.
//
//   begin   -> in the order of the stream; answers of one turn leave as one message
//   hold    -> a client knows how many bytes of writes may be without an answer. Nobody is made to wait here: who
//              sends twice as many does not read, and the stream ends
//   end     -> no further writes are begun, those under way are answered, and the last message says why. So what has
//              no answer was not begun. The status is OK: grpc-js drops messages that come before another one
import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { jobsLimits } from '@syncline/jobs';
import {
  decodeWrites,
  ENVELOPE_BYTES,
  encodeAnswers,
  type NumberedAnswer,
  type NumberedWrite,
} from '@syncline/jobs/grpc';
import { type Clock, SynclineError } from '@syncline/kernel';
import { grpcFailureOf } from '@syncline/protocol';
import type { OpenStreams } from './open-streams.js';

export type SetStatesCall = ServerDuplexStream<Uint8Array, Uint8Array>;

export interface SetStatesDeps {
  readonly clock: Clock;
  readonly streams: OpenStreams;
  /** A SetStateRequest and its SetStateResponse. */
  setState(request: Uint8Array): Promise<Uint8Array>;
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
  if (end.kind === 'failed') {
    const error = deps.failureOf(end.error);
    if (!(error instanceof SynclineError)) throw error;
    call.write(encodeAnswers({ answers: [], end: grpcFailureOf(error) }));
  }
  call.end();
}

type CallEnd = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly error: unknown };

const HELD_BYTES_MAX = 2 * jobsLimits.writeStreamBytesMax.value;

class WritesOfCall {
  readonly #deps: SetStatesDeps;
  readonly #call: SetStatesCall;
  readonly #onEnd: (end: CallEnd) => void;
  #answers: NumberedAnswer[] = [];
  #answersBytes = 0;
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
    this.#call.on('cancelled', () => this.end({ kind: 'done' }));
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
      this.end({ kind: 'failed', error: thrown });
    }
  }

  #begin({ number, write }: NumberedWrite): void {
    const bytes = write.length + ENVELOPE_BYTES;
    if (this.#heldBytes + bytes > HELD_BYTES_MAX) throw unread();
    this.#heldBytes += bytes;
    this.#runningCount += 1;
    this.#deps.setState(write).then(
      (response) => this.#answer({ number, answer: { kind: 'done', response } }, bytes),
      (thrown: unknown) => this.#fail(thrown, number, bytes),
    );
  }

  /** A bug of ours has no answer: it ends the call, and the log tells more. */
  #fail(thrown: unknown, number: number, bytes: number): void {
    if (thrown instanceof SynclineError) {
      const failure = grpcFailureOf(thrown);
      this.#answer({ number, answer: { kind: 'failed', failure } }, bytes);
      return;
    }
    this.#runningCount -= 1;
    this.end({ kind: 'failed', error: thrown });
  }

  #answer(answer: NumberedAnswer, bytes: number): void {
    this.#runningCount -= 1;
    if (this.#answers.length === 0) this.#deps.clock.defer(() => this.#flush());
    this.#answers.push(answer);
    this.#answersBytes += bytes;
  }

  #flush(): void {
    const answers = this.#answers;
    const bytes = this.#answersBytes;
    this.#answers = [];
    this.#answersBytes = 0;
    this.#call.write(encodeAnswers({ answers }), () => {
      this.#heldBytes -= bytes;
    });
    this.#endWhenAnswered();
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
