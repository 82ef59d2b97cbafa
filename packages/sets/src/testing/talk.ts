// A conversation with sets in one process, as a client would have it over a socket: bytes in, bytes out.
import { type Address, SynclineError } from '@syncline/kernel';
import type { RespSession, Sets } from '../sets.js';

/** A command in RESP. Characters are bytes. */
export function encodeCommand(words: readonly string[]): Uint8Array {
  const parts = words.map((word) => `$${word.length}\r\n${word}\r\n`);
  return Buffer.from(`*${words.length}\r\n${parts.join('')}`, 'latin1');
}

/** Shared by all: aborting without a reason would create an exception with a stack. */
const LEFT = new SynclineError('closed', 'the client has left');

export class Talk {
  readonly #session: RespSession;
  readonly #gone = new AbortController();
  readonly #ended: Promise<void>;
  #output = '';
  #listener: (() => void) | undefined;

  constructor(sets: Pick<Sets, 'connect'>, address: Address = { host: '127.0.0.1', port: 1 }) {
    this.#session = sets.connect({
      address,
      loopback: true,
      gone: this.#gone.signal,
      cut: () => this.#gone.abort(LEFT),
    });
    this.#ended = new Promise((resolve) => {
      this.#gone.signal.addEventListener('abort', () => resolve());
      this.#session.writeTo({
        write: (chunk) => {
          this.#output += Buffer.from(chunk).toString('latin1');
          this.#listener?.();
          return true;
        },
        drained: async () => {},
        end: () => resolve(),
      });
    });
  }

  get isGone(): boolean {
    return this.#gone.signal.aborted;
  }

  /** Sends a command and returns the first chunk that comes back; for replies that arrive in a single chunk. */
  async ask(...words: readonly string[]): Promise<string> {
    const start = this.#output.length;
    const answered = new Promise<void>((resolve) => {
      this.#listener = resolve;
    });
    this.#push(encodeCommand(words));
    if (this.#output.length === start) await Promise.race([answered, this.#ended]);
    this.#listener = undefined;
    if (this.#output.length === start)
      throw new SynclineError('closed', 'the connection ended without a reply');
    return this.#output.slice(start);
  }

  /** The bytes are only borrowed, as from a socket. */
  #push(chunk: Uint8Array): void {
    void this.#session.push(chunk);
    chunk.fill(0xff);
  }

  /** Sends all commands at once, then QUIT; returns every byte except the reply to QUIT. */
  async all(commands: readonly (readonly string[])[]): Promise<string> {
    const chunk = Buffer.concat([...commands, ['QUIT']].map(encodeCommand));
    this.#push(chunk);
    await this.#ended;
    this.leave();
    return this.#output.slice(0, -'+OK\r\n'.length);
  }

  leave(): void {
    this.#gone.abort(LEFT);
    this.#session.close('draining');
  }
}
