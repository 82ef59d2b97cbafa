// Moves bytes between the connection of a RESP client and its session, with backpressure in both directions.
//
// Inbound, the session holds at most one chunk; while it is busy, nothing more is read and the client has to stop
// sending. Outbound, the session writes until the connection is full, and then waits. Bytes are passed by plain
// calls: a promise per chunk would cost as much as the command in it.
import type { Clock, Connection, Timer } from '@syncline/kernel';
import { isLoopback } from '../config/exposure.js';
import type { RespPeer, RespSession, RespSessions } from './resp-session.js';

export interface RespConnectionDeps {
  readonly clock: Clock;
  readonly connection: Connection;
  readonly sessions: RespSessions;
}

export interface RespConnectionOptions {
  /** How long to wait for the client to close its side after we have ended the connection. */
  readonly lingerTimeoutMs: number;
  /** A client that reads nothing for this long while replies are pending is disconnected. */
  readonly stallTimeoutMs: number;
  /** Called once, just before the connection is cut because it stalled, or by its session. */
  onCut(reason: 'stalled' | 'session'): void;
  /** Called when the session has refused a password. */
  onWrongPassword(): void;
}

/** How the reply to a wrong password begins. The session checks passwords; the listener counts failures by address. */
const WRONG_PASSWORD = Buffer.from('-WRONGPASS');

function isWrongPassword(chunk: Uint8Array): boolean {
  return chunk[0] === WRONG_PASSWORD[0] && WRONG_PASSWORD.every((byte, at) => chunk[at] === byte);
}

export class RespConnection {
  readonly #deps: RespConnectionDeps;
  readonly #options: RespConnectionOptions;
  readonly #session: RespSession;
  readonly #gone = new AbortController();
  /** Input is ignored from now on: the session has ended, or the server drains. */
  #isInputOver = false;
  #isClosed = false;
  #bug: { readonly thrown: unknown } | undefined;
  #stallTimer: Timer | undefined;
  #lingerTimer: Timer | undefined;

  constructor(deps: RespConnectionDeps, options: RespConnectionOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#session = deps.sessions.connect(this.#peer());
    void deps.connection.closed.then(() => this.#gone.abort());
  }

  /** Resolves when the connection is closed. Rejects only if a session threw, which is a bug. */
  async serve(): Promise<void> {
    const { connection } = this.#deps;
    this.#session.writeTo({
      write: (chunk) => {
        if (isWrongPassword(chunk)) this.#options.onWrongPassword();
        return connection.write(chunk);
      },
      drained: () => this.#drained(),
      end: () => this.#end(),
    });
    connection.readBy({
      isBorrowing: true,
      take: (chunk) => this.#take(chunk),
      end: () => this.finish('client-ended'),
    });
    await connection.closed;
    this.#stallTimer?.cancel();
    this.#lingerTimer?.cancel();
    if (this.#bug !== undefined) throw this.#bug.thrown;
  }

  /** Accepts no more commands; those received so far are answered, then the connection ends. */
  finish(reason: 'client-ended' | 'draining'): void {
    this.#isInputOver = true;
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      this.#session.close(reason);
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #peer(): RespPeer {
    const address = this.#deps.connection.remote;
    return {
      address,
      loopback: isLoopback(address.host),
      gone: this.#gone.signal,
      cut: () => this.#cut('session'),
    };
  }

  #cut(reason: 'stalled' | 'session'): void {
    if (this.#gone.signal.aborted) return;
    this.#options.onCut(reason);
    this.#deps.connection.destroy();
  }

  /**
   * Bytes received after the end are discarded. If they were not read, the connection would be reset, and the
   * client would lose the last reply.
   */
  #take(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#isInputOver) return undefined;
    try {
      return this.#session.push(chunk)?.catch((thrown: unknown) => this.#fail(thrown));
    } catch (thrown) {
      this.#fail(thrown);
      return undefined;
    }
  }

  #fail(thrown: unknown): void {
    this.#isInputOver = true;
    this.#bug ??= { thrown };
    this.#deps.connection.destroy();
  }

  #end(): void {
    const { connection } = this.#deps;
    this.#isInputOver = true;
    connection.end();
    if (this.#lingerTimer !== undefined) return;
    if (connection.unsentBytes > 0) this.#watchForStall();
    this.#linger();
  }

  /** Gives the client time to read its last replies, then to close its side. */
  #linger(): void {
    const { clock, connection } = this.#deps;
    const isSent = connection.unsentBytes === 0;
    this.#lingerTimer = clock.setTimer(this.#options.lingerTimeoutMs, () => {
      if (isSent) connection.destroy();
      else this.#linger();
    });
  }

  async #drained(): Promise<void> {
    this.#stallTimer?.cancel();
    this.#watchForStall();
    try {
      await this.#deps.connection.drained();
    } finally {
      this.#stallTimer?.cancel();
    }
  }

  /** Nothing is written in the meantime, so whenever the client reads, the number of unsent bytes decreases. */
  #watchForStall(): void {
    const { clock, connection } = this.#deps;
    const { unsentBytes } = connection;
    this.#stallTimer = clock.setTimer(this.#options.stallTimeoutMs, () => {
      if (connection.unsentBytes < unsentBytes) this.#watchForStall();
      else this.#cut('stalled');
    });
  }
}
