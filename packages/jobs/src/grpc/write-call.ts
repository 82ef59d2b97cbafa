// One SetStates call: writes go out, answers come back under their numbers.
//
// The server takes so many bytes of writes without an answer and no more, so this side counts them. A write that
// nobody waits for any more counts until it is answered: the server still holds it.
import type { ClientDuplexStream, StatusObject } from '@grpc/grpc-js';
import { SynclineError } from '@syncline/kernel';
import { errorFromGrpc, type GrpcTarget } from '@syncline/protocol';
import { jobsLimits } from '../limits.js';
import { setState, setStates } from '../wire/calls.js';
import { decode } from '../wire/proto-message.js';
import { decodeAnswers, encodeWrites, type NumberedAnswer } from '../wire/write-messages.js';
import type { JobChannel } from './job-channel.js';
import type { PendingWrite } from './pending-write.js';
import { errorOfWriteStream, notTheContract } from './status-error.js';

export interface WriteCallDeps {
  readonly channel: JobChannel;
  readonly target: GrpcTarget;
  /** Answers have come, or the wire takes more. */
  onRoom(): void;
  /** It takes no further writes. May come more than once. */
  onOver(call: WriteCall): void;
  /** Nothing is left of it. */
  onEnd(call: WriteCall): void;
}

export class WriteCall {
  readonly #deps: WriteCallDeps;
  readonly #call: ClientDuplexStream<Uint8Array, Uint8Array>;
  readonly #unanswered = new Map<number, PendingWrite>();
  #unansweredBytes = 0;
  #isBlocked = false;
  #isBegun = false;
  #status: StatusObject | undefined;

  constructor(deps: WriteCallDeps) {
    this.#deps = deps;
    this.#call = deps.channel.duplex(setStates);
    this.#call.on('metadata', () => {
      this.#isBegun = true;
    });
    this.#call.on('data', (bytes: Uint8Array) => this.#take(bytes));
    this.#call.on('drain', () => {
      this.#isBlocked = false;
      deps.onRoom();
    });
    this.#call.on('error', () => undefined); // the status tells the same
    this.#call.on('status', (status: StatusObject) => {
      this.#status = status;
    });
    this.#call.on('end', () => this.#end());
  }

  /** Bytes of writes that it takes now. */
  get roomBytes(): number {
    return this.#isBlocked ? 0 : jobsLimits.writeStreamBytesMax.value - this.#unansweredBytes;
  }

  send(writes: readonly PendingWrite[]): void {
    for (const write of writes) {
      write.sent();
      this.#unanswered.set(write.options.number, write);
      this.#unansweredBytes += write.bytes;
    }
    this.#isBlocked = !this.#call.write(encodeWrites(writes.map(({ options }) => options)));
  }

  /** No further writes come, and nobody waits for an answer. One that never comes must not hold the stream open. */
  finish(): void {
    if (this.#unanswered.size === 0) this.#call.end();
    else this.cancel();
  }

  cancel(): void {
    this.#call.cancel();
  }

  #take(bytes: Uint8Array): void {
    try {
      const { answers, end } = decodeAnswers(bytes);
      for (const answer of answers) this.#settle(answer);
      if (end !== undefined) this.#leave(errorFromGrpc(end));
    } catch (thrown) {
      this.#leave(this.#strange(thrown));
      this.cancel();
    }
    this.#deps.onRoom();
  }

  #settle({ number, answer }: NumberedAnswer): void {
    const write = this.#unanswered.get(number);
    if (write === undefined) throw new SynclineError('invalid-argument', `no write ${number}`);
    this.#unanswered.delete(number);
    this.#unansweredBytes -= write.bytes;
    if (write.isSettled) return;
    if (answer.kind === 'failed') write.failed(errorFromGrpc(answer.failure));
    else this.#resolve(write, answer.response);
  }

  #resolve(write: PendingWrite, response: Uint8Array): void {
    try {
      write.done(decode(setState.response, response, { name: setState.name }));
    } catch (thrown) {
      write.failed(this.#strange(thrown));
    }
  }

  #end(): void {
    const isBegun = this.#isBegun;
    this.#leave(errorOfWriteStream(this.#status ?? null, { isBegun, target: this.#deps.target }));
    this.#deps.onEnd(this);
  }

  /** Of what is sent from now on, nobody would hear. */
  #leave(error: unknown): void {
    for (const write of this.#unanswered.values()) write.failed(error);
    this.#unanswered.clear();
    this.#deps.onOver(this);
  }

  #strange(thrown: unknown): unknown {
    return thrown instanceof SynclineError ? notTheContract(this.#deps.target, thrown) : thrown;
  }
}
