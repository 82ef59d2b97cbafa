// One RESP client: moves bytes between its connection and its session, with backpressure both ways.
//
// Inwards at most one chunk is with the session; while that asks to wait, nothing is pulled and the
// client's sending stops. Outwards a reply is pulled only when the connection has room.
import type { Clock, Connection } from '@syncline/kernel';
import type { RespSession } from './resp-session.js';

export interface RespConnectionDeps {
  readonly clock: Clock;
  readonly connection: Connection;
  readonly session: RespSession;
}

export interface RespConnectionOptions {
  /** How long an ended connection may wait for its peer. */
  readonly lingerTimeoutMs: number;
}

export class RespConnection {
  readonly #deps: RespConnectionDeps;
  readonly #options: RespConnectionOptions;
  /** No more input is wanted: the session has ended, or the server drains. */
  #isInputOver = false;

  constructor(deps: RespConnectionDeps, options: RespConnectionOptions) {
    this.#deps = deps;
    this.#options = options;
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
    if (this.#isInputOver) return;
    this.#isInputOver = true;
    this.#deps.session.close();
  }

  async #moveInput(): Promise<void> {
    const { connection, session } = this.#deps;
    const arrivals = connection.incoming[Symbol.asyncIterator]();
    for (;;) {
      const next = await nextOf(arrivals);
      if (next.done === true) break;
      // What comes after the end is read and dropped: unread bytes would turn our end into a reset,
      // and the client would lose the last reply.
      if (this.#isInputOver) continue;
      const room = session.push(next.value);
      if (room !== undefined) await room;
    }
    this.finish();
  }

  async #moveOutput(): Promise<void> {
    const { clock, connection, session } = this.#deps;
    for await (const chunk of session.output) {
      if (connection.write(chunk)) continue;
      if (!(await hasRoom(connection))) return; // the client is gone
    }
    this.#isInputOver = true;
    connection.end();
    const linger = clock.setTimer(this.#options.lingerTimeoutMs, () => connection.destroy());
    await connection.closed;
    linger.cancel();
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

async function hasRoom(connection: Connection): Promise<boolean> {
  try {
    await connection.drained();
    return true;
  } catch {
    return false;
  }
}
