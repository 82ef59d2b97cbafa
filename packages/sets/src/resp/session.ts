// One RESP connection: bytes in, commands run in order, replies out in order.
//
//   push ─▶ parser ─▶ dispatch ─▶ reply ─▶ end of the turn: in the log ─▶ output ─▶ sink
//
// Commands run at once and one after the other, until one waits, the turn is over for this connection, or too much
// is unsent; then `push` asks to wait, and reading goes on later from the same place. After a protocol error or
// QUIT nothing more is read.
//
// S5   Replies leave when their turn is in the log. If it was undone, what has read or changed sets since its first
//      change becomes an error.
// S10  Reading stops above a limit of unsent replies; a client that takes too few is cut.
import { assert, type Clock, type Metrics, type SynclineError } from '@syncline/kernel';
import type { CommandContext } from '../commands/command.js';
import type { Dispatch } from '../commands/dispatch.js';
import type { ServerFacts } from '../commands/server-facts.js';
import { endTransaction } from '../commands/transactions/transaction-state.js';
import type { TurnMember, Turns } from '../engine/turns.js';
import type { Keyspace } from '../keyspace.js';
import { setsLimits } from '../limits.js';
import type { RespPeer, RespSession, RespSink } from '../sets.js';
import { CommandParser } from './command-parser.js';
import { type IntegerReplies, ReplyWriter } from './reply-writer.js';
import { SessionClient } from './session-client.js';
import {
  type OverdueReason,
  SessionDeadlines,
  TurnBudget,
  type TurnCounter,
} from './session-limits.js';
import { deferred, goneError, SessionOutput } from './session-output.js';
import { TurnReplies } from './turn-replies.js';

const outputPauseBytes = setsLimits.outputPauseBytes.value;

/** Why the server has ended a connection. */
type EndReason = 'quit' | 'protocol-error' | 'killed' | 'output-full' | 'no-room' | OverdueReason;

export interface SessionDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly keyspace: Keyspace;
  readonly turns: Pick<Turns, 'join' | 'commitNow' | 'hasChanges'>;
  readonly facts: ServerFacts;
  readonly dispatch: Dispatch;
  readonly turnCounter: TurnCounter;
  readonly integers: IntegerReplies;
  onGone(): void;
  /** A long command threw what is no SynclineError: a bug, whether or not its client still waits. */
  onBug(thrown: unknown): void;
}

export interface SessionOptions {
  readonly id: number;
  readonly peer: RespPeer;
}

export class Session implements RespSession, TurnMember {
  readonly client: SessionClient;
  readonly #deps: SessionDeps;
  readonly #peer: RespPeer;
  readonly #parser = new CommandParser();
  readonly #writer: ReplyWriter;
  readonly #output: SessionOutput;
  readonly #context: CommandContext;
  readonly #budget: TurnBudget;
  readonly #deadlines: SessionDeadlines;
  /** Chunks behind the one that the parser has. */
  #chunks: Uint8Array[] = [];
  /** What the commands behind wait for; they run when it is undefined. */
  #pause: 'command' | 'turn' | 'output' | undefined;
  /** Nothing more is read: QUIT, a protocol error, or no more bytes come and all were read. */
  #isEnding = false;
  #isInputClosed = false;
  #isGone = false;
  /** Resolves for the caller of `push`, while it must wait. */
  #pushed: ReturnType<typeof deferred> | undefined;
  /** Resolves for a command that makes a large reply, while it must wait. */
  #roomy: ReturnType<typeof deferred> | undefined;

  /** Of this turn. */
  #replies = new TurnReplies();
  #isJoined = false;

  constructor(deps: SessionDeps, { id, peer }: SessionOptions) {
    this.#deps = deps;
    this.#peer = peer;
    const nowMs = deps.clock.monotonicMs();
    this.#deadlines = new SessionDeadlines(nowMs);
    this.client = new SessionClient(
      {
        address: peer.address,
        gone: peer.gone,
        endAfterReply: () => this.#endWith('quit'),
        cut: () => this.#cut('killed'),
      },
      { id, nowMs, isAuthenticated: deps.facts.checkPassword === undefined },
    );
    const { client } = this;
    const { integers, keyspace, facts } = deps;
    this.#writer = new ReplyWriter({ client, integers, room: () => this.#room() });
    this.#output = new SessionOutput(() => this.#drained());
    this.#context = { args: this.#parser.args, reply: this.#writer, keyspace, client, facts };
    this.#budget = new TurnBudget(deps.clock, deps.turnCounter);
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
    if (this.#isInputRead) return undefined;
    this.#parser.keepRest();
    this.#pushed ??= deferred();
    return this.#pushed.promise;
  }

  close(reason: 'client-ended' | 'draining'): void {
    this.#isInputClosed = true;
    if (reason === 'client-ended') this.client.stopReads();
    this.#settle();
  }

  /** Cuts the connection when something has lasted too long. Called about once a second. */
  checkDeadlines(nowMs: number): void {
    const isReplyStuck = this.#roomy !== undefined && !this.#output.takeProgress();
    const reason = this.#deadlines.overdue(nowMs, {
      isAuthenticated: this.client.isAuthenticated,
      isBusy: this.#pause !== undefined,
      isReaderSlow: isReplyStuck || this.#unsentBytes > setsLimits.outputSlowBytes.value,
      isMidCommand: this.#parser.isMidCommand,
      lastActiveMs: this.client.lastActiveMs,
      idleTimeoutMs: this.#deps.facts.idleTimeoutSeconds * 1000,
    });
    if (reason !== undefined) this.#cut(reason);
  }

  /** Replies that it has not taken, and what it has sent of an unfinished command. */
  get heldBytes(): number {
    return this.#unsentBytes + this.#parser.gatheredBytes;
  }

  cutForRoom(): void {
    this.#cut('no-room');
  }

  /** The connection is gone. */
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
    this.#roomy?.reject(goneError());
    this.#roomy = undefined;
    this.#releasePush();
    this.#deps.onGone();
  }

  // The end of a turn.

  turnEnded(error: SynclineError | undefined, number: number): void {
    this.#isJoined = false;
    const replies = this.#replies;
    const bytes = this.#writer.take(replies.end);
    const left = error === undefined ? bytes : replies.undone(bytes, error);
    if (this.#output.write(left, number, replies)) this.#replies = new TurnReplies();
    else replies.clear();
    this.#checkOutput();
    if (this.#isEnding && this.#pause !== 'command') this.#output.end();
  }

  turnsSynced(number: number): boolean {
    this.#output.synced(number);
    this.#drained(); // it may go on, and have replies that wait again
    return !this.#output.isHolding;
  }

  turnsFailed(error: SynclineError): void {
    if (this.#output.refuse(error)) this.#drained();
    else this.#cut('killed');
  }

  get #unsentBytes(): number {
    return this.#output.unsentBytes;
  }

  get #isInputRead(): boolean {
    return this.#isEnding || (this.#pause === undefined && this.#parser.isChunkRead);
  }

  /** Runs what is there, as far as it may go now. */
  #work(): void {
    const { clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (!this.#parser.isMidCommand) this.#deadlines.commandBegins(nowMs);
    this.client.lastActiveMs = nowMs;
    this.#budget.start(nowMs);
    this.#pause = this.#runCommands(nowMs);
    this.#budget.stop(clock.monotonicMs());
    if (this.#pause === 'turn' && !this.#isEnding) clock.defer(this.#resume);
    this.#settle();
  }

  /** Returns why it stopped; undefined: everything is read. */
  #runCommands(nowMs: number): 'command' | 'turn' | 'output' | undefined {
    const { dispatch } = this.#deps;
    const parser = this.#parser;
    const writer = this.#writer;
    const { client } = this;
    for (;;) {
      parser.isUnauthenticated = !client.isAuthenticated;
      const found = parser.next();
      if (found !== 'command') {
        if (found === 'failed') this.#failProtocol();
        else if (this.#feedNext()) continue;
        return undefined;
      }
      this.#deadlines.commandBegins(nowMs);
      const mark = writer.mark(); // a command may end the turn, and then the replies before it have left
      client.hasUsedSets = false;
      const answer = dispatch(this.#context);
      if (answer !== undefined) {
        this.#waitFor(answer, mark);
        return 'command';
      }
      const start = writer.startOf(mark);
      const bytes = parser.commandBytes + writer.length - start;
      this.#answered(start);
      if (this.#isEnding) return undefined;
      if (writer.length + this.#unsentBytes > outputPauseBytes) return this.#pauseForOutput();
      const { hasWalked } = client;
      client.hasWalked = false;
      if (!this.#budget.spend(bytes, hasWalked)) return 'turn';
    }
  }

  /** The client may take the replies at once: then only this turn is over. */
  #pauseForOutput(): 'turn' | 'output' {
    this.#deps.turns.commitNow();
    return this.#unsentBytes > outputPauseBytes ? 'output' : 'turn';
  }

  #feedNext(): boolean {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return false;
    this.#parser.feed(chunk);
    return true;
  }

  /** The reply that was written from `start` on is complete. */
  #answered(start: number): void {
    const { client } = this;
    if (client.replies !== 'on') {
      this.#writer.cutTo(start);
      if (client.replies === 'skip') client.replies = 'on';
      else if (client.replies === 'skip-next') client.replies = 'skip';
      return;
    }
    const end = this.#writer.length;
    this.#replies.add(start, end, client.hasUsedSets, this.#deps.turns.hasChanges);
    this.#join();
  }

  #join(): void {
    if (this.#isJoined) return;
    this.#isJoined = true;
    this.#deps.turns.join(this);
  }

  #waitFor(answer: Promise<void>, mark: number): void {
    const { clock, metrics, turns, onBug } = this.#deps;
    assert(!this.#context.args.isBorrowed, 'a command that waits has its own bytes');
    const startMs = clock.monotonicMs();
    answer.then(
      () => {
        metrics.observe('syncline_sets_command_seconds', (clock.monotonicMs() - startMs) / 1000);
        if (this.#isGone) return;
        // What it has written and read is in the log, whatever becomes of this turn: see Keyspace.commit.
        turns.commitNow();
        if (this.#writer.isTaken(mark)) this.#replies.addPart(this.#writer.length);
        this.#answered(this.#writer.startOf(mark));
        // In the next turn: many commands that wait for little would otherwise hold the event loop together.
        this.#pause = 'turn';
        clock.defer(this.#resume);
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

  /** Everything is read: who pushed may go on, and at the end of the input this is the end. */
  #settle(): void {
    if (!this.#isInputRead) return;
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
      const start = this.#writer.length;
      this.client.hasUsedSets = false;
      this.#writer.error(failure.text);
      this.#answered(start);
    }
    this.#endWith('protocol-error');
  }

  /** Undefined while few replies are unsent. What is made so far of a large reply leaves. */
  #room(): Promise<void> | undefined {
    if (this.#isGone) return Promise.reject(goneError());
    if (this.#writer.length + this.#unsentBytes <= outputPauseBytes / 2) return undefined;
    if (this.client.replies === 'on') {
      this.#deps.turns.commitNow(); // first what others have changed, which has nothing to do with this part
      this.#replies.addPart(this.#writer.length);
      this.#join();
      this.#deps.turns.commitNow();
    } else {
      this.#writer.cutTo(0);
    }
    if (this.#isGone) return Promise.reject(goneError());
    if (this.#unsentBytes <= outputPauseBytes / 2) return undefined;
    this.#roomy ??= deferred();
    return this.#roomy.promise;
  }

  /** Less is unsent than before. */
  #drained(): void {
    if (this.#unsentBytes <= outputPauseBytes / 2) {
      this.#roomy?.resolve();
      this.#roomy = undefined;
    }
    if (this.#pause === 'output' && this.#unsentBytes <= outputPauseBytes) this.#resume();
  }

  #checkOutput(): void {
    const { outputBytesMax, unauthenticatedOutputBytesMax } = setsLimits;
    const limit = this.client.isAuthenticated ? outputBytesMax : unauthenticatedOutputBytesMax;
    if (this.#unsentBytes > limit.value) this.#cut('output-full');
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
