// One RESP connection: bytes in, commands run in order, replies out in order.
//
//   push ─▶ parser ─▶ dispatch ─▶ reply ─▶ end of the turn: in the log ─▶ output ─▶ sink
//
// Commands run immediately and one after another, until one waits, the turn is over for this connection, or too much
// is unsent; then `push` asks to wait, and reading continues later from the same place. After a protocol error or
// QUIT nothing more is read.
//
// S5   Replies are sent when their turn is in the log. If it was undone, replies that read or changed sets since its
//      first change become errors.
// S10  Reading stops above a limit of unsent replies; a client that reads too little is disconnected.
import { assert, type Clock, type Metrics, type SynclineError } from '@syncline/kernel';
import { Client } from '../commands/client.js';
import type { CommandContext, QueuedCommand } from '../commands/command.js';
import type { Dispatch } from '../commands/dispatch.js';
import type { ServerFacts } from '../commands/server-facts.js';
import { endTransaction } from '../commands/transactions/transaction-state.js';
import type { TurnMember, Turns } from '../engine/turns.js';
import type { Keyspace } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import type { RespPeer, RespSession, RespSink } from '../sets.js';
import { CommandParser } from './command-parser.js';
import { ReplyWriter, SessionOutput } from './reply-writer.js';
import {
  deferred,
  disconnectedError,
  type OverdueReason,
  SessionDeadlines,
  type SharedTurn,
  TurnBudget,
} from './session-limits.js';

const outputPauseBytes = setsLimits.outputPauseBytes.value;

type EndReason = 'quit' | 'protocol-error' | 'killed' | 'output-full' | 'no-room' | OverdueReason;

export interface SessionDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly keyspace: Keyspace;
  readonly turns: Pick<Turns, 'join' | 'commitNow' | 'hasChanges'>;
  readonly facts: ServerFacts;
  readonly dispatch: Dispatch;
  readonly sharedTurn: SharedTurn;
  /** A long command threw something other than a SynclineError: a bug, whether or not its client still waits. */
  onBug(thrown: unknown): void;
}

export interface SessionOptions {
  readonly id: number;
  readonly peer: RespPeer;
  onGone(): void;
}

export class Session implements RespSession, TurnMember {
  readonly client: Client<QueuedCommand>;
  readonly #deps: SessionDeps;
  readonly #peer: RespPeer;
  readonly #onGone: () => void;
  readonly #parser = new CommandParser();
  readonly #writer: ReplyWriter;
  readonly #output: SessionOutput;
  readonly #context: CommandContext;
  readonly #budget: TurnBudget;
  readonly #deadlines: SessionDeadlines;
  /** Chunks after the one that the parser has. */
  #chunks: Uint8Array[] = [];
  /** What later commands wait for; they run when it is undefined. */
  #pause: 'command' | 'turn' | 'output' | undefined;
  /** Nothing more is read: after QUIT, a protocol error, or the end of the input once all of it was read. */
  #isEnding = false;
  #isInputClosed = false;
  #isGone = false;
  /** Resolves the wait of the caller of `push`. */
  #pushed: ReturnType<typeof deferred> | undefined;
  /** Resolves the wait of a command that produces a large reply. */
  #outputSpace: ReturnType<typeof deferred> | undefined;

  #isJoined = false;

  /** All sessions share one `deps`: with an object per session, V8 would look up each of its properties by name. */
  constructor(deps: SessionDeps, { id, peer, onGone }: SessionOptions) {
    this.#deps = deps;
    this.#peer = peer;
    this.#onGone = onGone;
    const nowMs = deps.clock.monotonicMs();
    this.#deadlines = new SessionDeadlines(nowMs);
    this.client = new Client(
      {
        address: peer.address,
        gone: peer.gone,
        endAfterReply: () => this.#endWith('quit'),
        cut: () => this.#cut('killed'),
      },
      { id, nowMs, isAuthenticated: deps.facts.checkPassword === undefined },
    );
    const { client } = this;
    const { keyspace, facts } = deps;
    this.#writer = new ReplyWriter(client, () => this.#room());
    this.#output = new SessionOutput(() => this.#drained());
    this.#context = { args: this.#parser.args, reply: this.#writer, keyspace, client, facts };
    this.#budget = new TurnBudget(deps.sharedTurn, this.#resume);
    peer.gone.addEventListener('abort', () => this.leave(), { once: true });
  }

  writeTo(sink: RespSink): void {
    this.#output.writeTo(sink);
  }

  push(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#isEnding || this.#isInputClosed) return undefined;
    if (this.#parser.isChunkRead && this.#chunks.length === 0) this.#parser.feed(chunk, true);
    else this.#chunks.push(new Uint8Array(chunk));
    if (this.#pause === undefined) this.#work();
    if (this.#isInputRead()) return undefined;
    this.#parser.keepRest();
    this.#pushed ??= deferred();
    return this.#pushed.promise;
  }

  close(reason: 'client-ended' | 'draining'): void {
    this.#isInputClosed = true;
    if (reason === 'client-ended') this.client.stopReads();
    this.#settle();
  }

  /** Closes the connection if something has lasted too long. Called about once a second. */
  checkDeadlines(nowMs: number): void {
    const isReplyStuck = this.#outputSpace !== undefined && !this.#output.takeProgress();
    const reason = this.#deadlines.overdue(nowMs, {
      isAuthenticated: this.client.isAuthenticated,
      isBusy: this.#pause !== undefined,
      isReaderSlow: isReplyStuck || this.#output.unsentBytes > setsLimits.outputSlowBytes.value,
      isMidCommand: this.#parser.isMidCommand,
      lastActiveMs: this.client.lastActiveMs,
      idleTimeoutMs: this.#deps.facts.idleTimeoutSeconds * 1000,
    });
    if (reason !== undefined) this.#cut(reason);
  }

  /** Replies that the client has not read, and what it has sent of an incomplete command. */
  get heldBytes(): number {
    return this.#output.unsentBytes + this.#parser.gatheredBytes;
  }

  cutForRoom(): void {
    this.#cut('no-room');
  }

  leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#isEnding = true;
    this.#chunks = [];
    this.#output.drop();
    this.client.stopReads();
    // An EXEC that still waits would not learn of changes any more, so its keys count as touched.
    const isWatching = this.client.watchedKeys > 0;
    endTransaction(this.#context);
    this.client.isTouched = isWatching;
    this.#outputSpace?.reject(disconnectedError());
    this.#outputSpace = undefined;
    this.#releasePush();
    this.#onGone();
  }

  turnEnded(error: SynclineError | undefined, number: number): void {
    this.#isJoined = false;
    const turn = this.#writer.take();
    if (error !== undefined) turn.undo(error);
    this.#output.write(turn, number);
    this.#checkOutput();
    if (this.#isEnding && this.#pause !== 'command') this.#output.end();
  }

  turnsSynced(number: number): boolean {
    this.#output.synced(number); // it may continue, and have replies that wait again
    return !this.#output.isHolding;
  }

  turnsFailed(error: SynclineError): void {
    if (!this.#output.refuse(error)) this.#cut('killed');
  }

  #isInputRead(): boolean {
    return this.#isEnding || (this.#pause === undefined && this.#parser.isChunkRead);
  }

  #work(): void {
    const { clock, sharedTurn } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (!this.#parser.isMidCommand) this.#deadlines.commandBegins(nowMs);
    this.client.lastActiveMs = nowMs;
    if (this.#budget.start(nowMs)) {
      this.#pause = this.#runCommands(nowMs);
      this.#deps.keyspace.endFetch();
      this.#budget.stop(clock.monotonicMs());
      if (this.#pause === 'turn' && !this.#isEnding) sharedTurn.resumeLater(this.#budget);
    } else {
      this.#pause = 'turn';
    }
    this.#settle();
  }

  /** Returns why it stopped; undefined if everything was read. */
  #runCommands(nowMs: number): 'command' | 'turn' | 'output' | undefined {
    const { dispatch, keyspace } = this.#deps;
    const parser = this.#parser;
    const writer = this.#writer;
    const context = this.#context;
    const { client } = this;
    for (;;) {
      parser.isUnauthenticated = !client.isAuthenticated;
      const found = parser.next();
      if (found !== 'command') {
        const chunk = this.#chunks.shift();
        if (found === 'failed') this.#failProtocol();
        if (found === 'failed' || chunk === undefined) return undefined;
        parser.feed(chunk);
        continue;
      }
      this.#deadlines.commandBegins(nowMs);
      // Pipelines look up many members of one set.
      if (parser.ahead.length > 0 && !parser.isRepeated && parser.args.length === 3)
        keyspace.fetch(parser.args, 1, parser.ahead);
      const mark = writer.mark(); // a command may end the turn, and then the replies before it have been sent
      client.hasUsedSets = false;
      // A subcommand may be the last of two words.
      if (!parser.isRepeated || parser.args.length === 2) context.known = undefined;
      const answer = dispatch(context);
      if (answer !== undefined) {
        this.#waitFor(answer, mark);
        return 'command';
      }
      const bytes = parser.commandBytes + writer.mark() - mark;
      this.#answered(mark);
      if (this.#isEnding) return undefined;
      if (writer.length + this.#output.unsentBytes > outputPauseBytes)
        return this.#pauseForOutput();
      const { hasWalked } = client;
      client.hasWalked = false;
      if (!this.#budget.spend(bytes, hasWalked)) return 'turn';
    }
  }

  /** If the client reads the replies immediately, only this turn is over. */
  #pauseForOutput(): 'turn' | 'output' {
    this.#deps.turns.commitNow();
    return this.#output.unsentBytes > outputPauseBytes ? 'output' : 'turn';
  }

  /** The reply that was written since the mark is complete. */
  #answered(mark: number): void {
    const { client } = this;
    if (client.replies !== 'on') {
      this.#writer.rewind(mark);
      if (client.replies === 'skip') client.replies = 'on';
      else if (client.replies === 'skip-next') client.replies = 'skip';
      return;
    }
    this.#writer.complete(client.hasUsedSets, this.#deps.turns.hasChanges);
    this.#join();
  }

  #join(): void {
    if (this.#isJoined) return;
    this.#isJoined = true;
    this.#deps.turns.join(this);
  }

  #waitFor(answer: Promise<void>, mark: number): void {
    const { clock, metrics, turns, sharedTurn, onBug } = this.#deps;
    assert(!this.#context.args.isBorrowed, 'a command that waits has its own bytes');
    const startMs = clock.monotonicMs();
    answer.then(
      () => {
        metrics.observe('syncline_sets_command_seconds', (clock.monotonicMs() - startMs) / 1000);
        if (this.#isGone) return;
        // What it has written and read is in the log, whatever the outcome of this turn: see Keyspace.commit.
        turns.commitNow();
        if (this.#writer.isTaken(mark)) this.#writer.completePart();
        this.#answered(mark);
        // In the next turn: otherwise many commands with short waits would block the event loop together.
        this.#pause = 'turn';
        sharedTurn.resumeLater(this.#budget);
      },
      (thrown: unknown) => {
        onBug(thrown);
        this.#cut('killed');
      },
    );
  }

  readonly #resume = (): void => {
    this.#pause = undefined;
    if (this.#isEnding) this.#settle();
    else this.#work();
  };

  /** Everything was read: the caller of `push` may continue, and at the end of the input this is the end. */
  #settle(): void {
    if (!this.#isInputRead()) return;
    this.#releasePush();
    if (this.#isInputClosed) this.#isEnding = true;
    if (this.#isEnding && this.#pause !== 'command' && !this.#isJoined) this.#output.end();
  }

  #releasePush(): void {
    const pushed = this.#pushed;
    this.#pushed = undefined;
    pushed?.resolve();
  }

  #failProtocol(): void {
    const failure = this.#parser.failure;
    if (failure === undefined) return;
    this.#deps.metrics.add('syncline_sets_protocol_errors_total', 1, { kind: failure.kind });
    if (failure.text !== undefined) {
      const mark = this.#writer.mark();
      this.client.hasUsedSets = false;
      this.#writer.error(failure.text);
      this.#answered(mark);
    }
    this.#endWith('protocol-error');
  }

  /** Undefined while few replies are unsent. The completed part of a large reply is sent. */
  #room(): Promise<void> | undefined {
    if (this.#isGone) return Promise.reject(disconnectedError());
    if (this.#writer.length + this.#output.unsentBytes <= outputPauseBytes / 2) return undefined;
    if (this.client.replies === 'on') {
      this.#deps.turns.commitNow(); // first what others have changed, which is unrelated to this part
      this.#writer.completePart();
      this.#join();
      this.#deps.turns.commitNow();
    } else {
      this.#writer.rewind(0);
    }
    if (this.#isGone) return Promise.reject(disconnectedError());
    if (this.#output.unsentBytes <= outputPauseBytes / 2) return undefined;
    this.#outputSpace ??= deferred();
    return this.#outputSpace.promise;
  }

  #drained(): void {
    if (this.#output.unsentBytes <= outputPauseBytes / 2) {
      this.#outputSpace?.resolve();
      this.#outputSpace = undefined;
    }
    if (this.#pause === 'output' && this.#output.unsentBytes <= outputPauseBytes) this.#resume();
  }

  #checkOutput(): void {
    const { outputBytesMax, unauthenticatedOutputBytesMax } = setsLimits;
    const limit = this.client.isAuthenticated ? outputBytesMax : unauthenticatedOutputBytesMax;
    if (this.#output.unsentBytes > limit.value) this.#cut('output-full');
  }

  #endWith(reason: EndReason): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#chunks = [];
    this.#deps.metrics.add('syncline_sets_closed_total', 1, { reason });
  }

  #cut(reason: EndReason): void {
    if (this.#isGone) return;
    this.#endWith(reason);
    this.#peer.cut();
  }
}
