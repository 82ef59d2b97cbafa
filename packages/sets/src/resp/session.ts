// One RESP connection: bytes in, commands run in order, replies out in order.
//
//   push ─▶ parser ─▶ dispatch ─▶ reply ─▶ held until its commit is settled ─▶ sink
//
// Commands run at once and one after the other, until one waits, the turn is over for this connection, or
// too much is unsent; then `push` asks to wait, and reading goes on later from the same place. Replies are
// handed on once per turn, not once per command. After a protocol error or QUIT nothing more is read.
//
// S10  Reading stops above a limit of unsent replies; a client that takes too few is cut.
import { SynclineError } from '@syncline/kernel';
import type { CommandContext } from '../commands/command.js';
import { endTransaction } from '../commands/transactions/end-transaction.js';
import { setsLimits } from '../limits.js';
import type { RespPeer, RespSession, RespSink } from '../sets.js';
import { CommandParser } from './command-parser.js';
import { HeldReplies } from './held-replies.js';
import type { IntegerReplies } from './integer-replies.js';
import { misconfText } from './misconf.js';
import { ReplyWriter } from './reply-writer.js';
import { SessionClient } from './session-client.js';
import { SessionDeadlines } from './session-deadlines.js';
import type { SessionDeps } from './session-deps.js';
import { SessionOutput } from './session-output.js';
import { TurnBudget } from './turn-budget.js';
import type { TurnCounter } from './turn-counter.js';
import { Waiter } from './waiter.js';

const outputPauseBytes = setsLimits.outputPauseBytes.value;

/** Why the server has ended a connection. */
type EndReason =
  | 'quit'
  | 'protocol-error'
  | 'killed'
  | 'output-full'
  | 'half-command'
  | 'stranger'
  | 'idle'
  | 'slow-reader'
  | 'no-room';

export interface OneSessionDeps extends SessionDeps {
  readonly turns: TurnCounter;
  readonly integers: IntegerReplies;
  onGone(): void;
}

export interface SessionOptions {
  readonly id: number;
  readonly peer: RespPeer;
}

export class Session implements RespSession {
  readonly client: SessionClient;
  readonly #deps: OneSessionDeps;
  readonly #peer: RespPeer;
  readonly #parser = new CommandParser();
  readonly #writer: ReplyWriter;
  readonly #output: SessionOutput;
  readonly #held: HeldReplies;
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
  /** Who pushed, while it must wait. */
  readonly #pushed = new Waiter();
  /** Who makes a large reply, while it must wait. */
  readonly #roomy = new Waiter();

  constructor(deps: OneSessionDeps, { id, peer }: SessionOptions) {
    this.#deps = deps;
    this.#peer = peer;
    const nowMs = deps.clock.monotonicMs();
    this.client = new SessionClient(
      {
        address: peer.address,
        gone: peer.gone,
        endAfterReply: () => this.#endWith('quit'),
        cut: () => this.#cut('killed'),
      },
      { id, nowMs, isAuthenticated: deps.facts.checkPassword === undefined },
    );
    this.#writer = new ReplyWriter({
      client: this.client,
      integers: deps.integers,
      room: () => this.#room(),
    });
    this.#output = new SessionOutput(() => this.#drained());
    this.#held = new HeldReplies({
      writer: this.#writer,
      output: this.#output,
      commits: deps.commits,
      onReleased: () => this.#drained(),
    });
    const { keyspace, facts } = deps;
    const { client } = this;
    this.#context = { args: this.#parser.args, reply: this.#writer, keyspace, client, facts };
    this.#budget = new TurnBudget(deps.clock, deps.turns);
    this.#deadlines = new SessionDeadlines(nowMs);
    peer.gone.addEventListener('abort', () => this.leave(), { once: true });
  }

  writeTo(sink: RespSink): void {
    this.#output.writeTo(sink);
  }

  push(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#isEnding || this.#isInputClosed) return undefined;
    if (this.#parser.isChunkRead && this.#chunks.length === 0) this.#parser.feed(chunk);
    else this.#chunks.push(chunk);
    if (this.#pause === undefined) this.#work();
    return this.#isInputRead ? undefined : this.#pushed.wait();
  }

  close(): void {
    this.#isInputClosed = true;
    this.#settle();
  }

  /** Cuts the connection when something has lasted too long. */
  checkDeadlines(nowMs: number): void {
    const isReplyStuck = this.#roomy.isWaiting && !this.#output.takeProgress();
    const reason = this.#deadlines.overdue(nowMs, {
      isAuthenticated: this.client.isAuthenticated,
      isBusy: this.#pause !== undefined,
      isReaderSlow: this.#unsentBytes > setsLimits.outputSlowBytes.value || isReplyStuck,
      isMidCommand: this.#parser.isMidCommand,
      lastActiveMs: this.client.lastActiveMs,
      idleTimeoutMs: this.#deps.facts.idleTimeoutSeconds * 1000,
    });
    if (reason !== undefined) this.#cut(reason);
  }

  /** What it has not taken, and what it has sent half. */
  get heldBytes(): number {
    return this.#unsentBytes + this.#parser.gatheredBytes;
  }

  /** All connections together hold too much. */
  cutForRoom(): void {
    this.#cut('no-room');
  }

  /** The connection is gone. */
  leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#isEnding = true;
    this.#chunks = [];
    this.#held.drop();
    this.#output.drop();
    this.#endTransaction();
    this.#roomy.fail(goneError());
    this.#pushed.release();
    this.#deps.onGone();
  }

  /** An EXEC that still waits would not hear of changes any more, so it takes its keys as touched. */
  #endTransaction(): void {
    const { client } = this.#context;
    const isWatching = client.watchedKeys > 0;
    endTransaction(this.#context);
    client.isTouched = isWatching;
  }

  get #unsentBytes(): number {
    return this.#held.heldBytes + this.#output.queuedBytes;
  }

  get #isInputRead(): boolean {
    return this.#isEnding || (this.#pause === undefined && this.#parser.isChunkRead);
  }

  /** Runs what is there, as far as it may go now, and hands the replies on. */
  #work(): void {
    const { clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    const wasMidCommand = this.#parser.isMidCommand;
    this.client.lastActiveMs = nowMs;
    this.#budget.start(nowMs);
    this.#pause = this.#runCommands(nowMs);
    if (!wasMidCommand) this.#deadlines.commandBegins(nowMs);
    this.#held.flush();
    this.#checkOutput();
    this.#budget.stop(clock.monotonicMs());
    if (this.#pause === 'output' && this.#unsentBytes <= outputPauseBytes) this.#pause = 'turn';
    if (this.#pause === 'turn' && !this.#isEnding) clock.defer(this.#resume);
    this.#settle();
  }

  /** All that was there is read: who pushed may go on, and at the end of the input this is the end. */
  #settle(): void {
    if (!this.#isInputRead) return;
    this.#pushed.release();
    if (this.#isInputClosed) this.#isEnding = true;
    if (this.#isEnding) this.#held.end();
  }

  readonly #resume = (): void => {
    if (this.#isEnding) return;
    this.#pause = undefined;
    this.#work();
  };

  /** Gives why it stopped; undefined: all is read. */
  #runCommands(nowMs: number): 'command' | 'turn' | 'output' | undefined {
    const { dispatch, keyspace } = this.#deps;
    const parser = this.#parser;
    const writer = this.#writer;
    const { client } = this;
    const unsentBytes = this.#unsentBytes; // nothing leaves while commands run
    for (;;) {
      parser.isStranger = !client.isAuthenticated;
      const found = parser.next();
      if (found !== 'command') {
        if (found === 'failed') this.#failProtocol();
        else if (this.#feedNext()) continue;
        return undefined;
      }
      this.#deadlines.commandBegins(nowMs);
      const start = writer.length;
      const answer = dispatch(this.#context);
      if (answer !== undefined) {
        this.#waitFor(answer, writer.mark() - (writer.length - start));
        return 'command';
      }
      this.#answered(start, keyspace.takeCommitSeen());
      if (this.#isEnding) return undefined;
      if (writer.length + unsentBytes > outputPauseBytes) return 'output';
      const { hasWalked } = client;
      client.hasWalked = false;
      if (!this.#budget.spend(parser.commandBytes + writer.length - start, hasWalked))
        return 'turn';
    }
  }

  #feedNext(): boolean {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return false;
    this.#parser.feed(chunk);
    return true;
  }

  /** The reply that was written from `start` on is complete. */
  #answered(start: number, commit: number): void {
    const { client } = this;
    if (client.replies === 'on') {
      this.#held.answered(commit);
      return;
    }
    this.#writer.cutTo(start);
    if (client.replies === 'skip') client.replies = 'on';
    else if (client.replies === 'skip-next') client.replies = 'skip';
  }

  #waitFor(answer: Promise<void>, mark: number): void {
    const { clock, commits, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    const failuresCount = commits.failuresCount;
    answer.then(
      () => {
        metrics.observe('syncline_sets_command_seconds', (clock.monotonicMs() - startMs) / 1000);
        if (!this.#isGone) this.#finishWait(mark, commits.failuresCount !== failuresCount);
      },
      (thrown: unknown) => this.#pushed.fail(thrown),
    );
  }

  /**
   * Others ran meanwhile, so nobody knows which commits this command saw: its reply waits for all, and
   * is an error if one of them failed. Only what is stored leaves in parts: views show nothing else, and
   * `withGate` waits for the disk. So a reply of which a part has left waits for nothing.
   */
  #finishWait(mark: number, hasCommitFailed: boolean): void {
    const { commits, keyspace } = this.#deps;
    const writer = this.#writer;
    const isPartOut = writer.isTaken(mark);
    if (hasCommitFailed && commits.lastFailure !== undefined && writer.rewind(mark)) {
      writer.error(misconfText(commits.lastFailure));
    }
    keyspace.takeCommitSeen();
    this.#answered(writer.startOf(mark), isPartOut ? 0 : commits.newest);
    this.#pause = undefined;
    this.#held.flush();
    if (this.#isEnding) this.#settle();
    else this.#work();
  }

  #failProtocol(): void {
    const { metrics } = this.#deps;
    const failure = this.#parser.failure;
    if (failure === undefined) return;
    metrics.add('syncline_sets_protocol_errors_total', 1, { kind: failure.kind });
    if (failure.text !== undefined) {
      const start = this.#writer.length;
      this.#writer.error(failure.text);
      this.#answered(start, 0);
    }
    this.#endWith('protocol-error');
  }

  #endWith(reason: EndReason): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#chunks = [];
    this.#deps.metrics.add('syncline_sets_closed_total', 1, { reason });
  }

  /** Undefined while the unsent replies are few. The part that is made so far leaves. */
  #room(): Promise<void> | undefined {
    if (this.#isGone) return Promise.reject(goneError());
    if (this.#writer.length + this.#unsentBytes <= outputPauseBytes / 2) return undefined;
    if (this.client.replies === 'on') this.#held.partDone();
    else this.#writer.cutTo(0);
    this.#checkOutput();
    return this.#unsentBytes <= outputPauseBytes / 2 ? undefined : this.#roomy.wait();
  }

  /** The sink took something. */
  #drained(): void {
    if (this.#unsentBytes <= outputPauseBytes / 2) this.#roomy.release();
    if (this.#pause === 'output' && this.#unsentBytes <= outputPauseBytes) this.#resume();
  }

  #checkOutput(): void {
    const { outputBytesMax, strangerOutputBytesMax } = setsLimits;
    const limit = this.client.isAuthenticated ? outputBytesMax : strangerOutputBytesMax;
    if (this.#unsentBytes > limit.value) this.#cut('output-full');
  }

  #cut(reason: EndReason): void {
    if (this.#isGone) return;
    this.#endWith(reason);
    this.#peer.cut();
  }
}

function goneError(): SynclineError {
  return new SynclineError('closed', 'the client has closed its connection');
}
