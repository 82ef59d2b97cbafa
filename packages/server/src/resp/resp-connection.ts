// One RESP client: moves bytes between its connection and its session, with backpressure both ways.
//
// Inwards at most one chunk is with the session; while that asks to wait, nothing is pulled and the
// client's sending stops. Outwards a reply is pulled only when the connection has room.
import type { Clock, Connection, Timer } from '@syncline/kernel';
import { AbortableWaits } from '../abortable-waits.js';
import { isLoopback } from '../config/exposure.js';
import type { RespPeer, RespSession, RespSessions } from './resp-session.js';

export interface RespConnectionDeps {
  readonly clock: Clock;
  readonly connection: Connection;
  readonly sessions: RespSessions;
}

export interface RespConnectionOptions {
  /** How long an ended connection may wait for its peer. */
  readonly lingerTimeoutMs: number;
  /** How long a client may take nothing of its replies while more wait. */
  readonly stallTimeoutMs: number;
  /** Called once, just before the connection is dropped for that, or by its session. */
  onCut(reason: 'stalled' | 'session'): void;
}

export class RespConnection {
  readonly #deps: RespConnectionDeps;
  readonly #options: RespConnectionOptions;
  readonly #session: RespSession;
  readonly #gone = new AbortController();
  /** No more input is wanted: the session has ended, or the server drains. */
  #isInputOver = false;
  #isClosed = false;
  #stallTimer: Timer | undefined;

  constructor(deps: RespConnectionDeps, options: RespConnectionOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#session = deps.sessions.connect(this.#peer());
    void deps.connection.closed.then(() => this.#gone.abort());
  }

  /** Resolves when the connection is closed. Rejects only with what a session threw, a bug of ours. */
  async serve(): Promise<void> {
    const input = this.#moveInput();
    const output = this.#moveOutput();
    try {
      await Promise.race([output, rejectionOf(input)]);
    } finally {
      this.#deps.connection.destroy();
    }
    await input;
  }

  /** Takes no more commands; those that have arrived are answered, then the connection ends. */
  finish(): void {
    this.#isInputOver = true;
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#session.close();
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

  async #moveInput(): Promise<void> {
    const { connection } = this.#deps;
    const waits = new AbortableWaits(this.#gone.signal);
    const arrivals = connection.incoming[Symbol.asyncIterator]();
    for (;;) {
      const next = await nextOf(arrivals);
      if (next.done === true) break;
      // What comes after the end is read and dropped: unread bytes would turn our end into a reset,
      // and the client would lose the last reply.
      if (this.#isInputOver) continue;
      const room = this.#session.push(next.value);
      if (room !== undefined && (await waits.wait(room)) === 'aborted') break;
    }
    this.finish();
  }

  async #moveOutput(): Promise<void> {
    const { connection } = this.#deps;
    const waits = new AbortableWaits(this.#gone.signal);
    const replies = this.#session.output[Symbol.asyncIterator]();
    for (;;) {
      const next = await waits.wait(replies.next());
      if (next === 'aborted') break;
      if (next.done === true) return await this.#end();
      if (!connection.write(next.value) && !(await this.#hasRoom())) break;
    }
    // The client is gone. Not awaited: a session that waits for something would hold us.
    replies.return?.().then(undefined, () => undefined);
  }

  async #end(): Promise<void> {
    const { clock, connection } = this.#deps;
    this.#isInputOver = true;
    connection.end();
    const linger = clock.setTimer(this.#options.lingerTimeoutMs, () => connection.destroy());
    await connection.closed;
    linger.cancel();
  }

  /** False when the client is gone, also because it took nothing for too long. */
  async #hasRoom(): Promise<boolean> {
    this.#watchForStall();
    try {
      await this.#deps.connection.drained();
      return true;
    } catch {
      return false;
    } finally {
      this.#stallTimer?.cancel();
    }
  }

  /** Nothing is written meanwhile, so that a client which takes anything has less before it. */
  #watchForStall(): void {
    const { clock, connection } = this.#deps;
    const { unsentBytes } = connection;
    this.#stallTimer = clock.setTimer(this.#options.stallTimeoutMs, () => {
      if (connection.unsentBytes < unsentBytes) this.#watchForStall();
      else this.#cut('stalled');
    });
  }
}

/** Settles only if the promise rejects. */
function rejectionOf(promise: Promise<unknown>): Promise<never> {
  return new Promise((_resolve, reject) => {
    promise.catch(reject);
  });
}

/** A reset ends it like an end: a client that is gone is no error of this server. */
async function nextOf(arrivals: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  try {
    return await arrivals.next();
  } catch {
    return { done: true, value: undefined };
  }
}
