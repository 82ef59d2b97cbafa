// A target for commands: sets in this process, or a server behind a socket.
import type { Sets } from '../../sets.js';
import { RespReplies, type RespReply } from './resp-replies.js';

export type Words = readonly string[];

export interface RespAsker {
  /** Sends all commands at once, and returns a reply for each. */
  ask(commands: readonly Words[]): Promise<readonly RespReply[]>;
  close(): void;
}

export function askSets(sets: Sets): RespAsker {
  const gone = new AbortController();
  const inbox = new Inbox();
  const session = sets.connect({
    address: { host: '127.0.0.1', port: 1 },
    loopback: true,
    gone: gone.signal,
    cut: () => gone.abort(),
  });
  session.writeTo({
    write(chunk) {
      inbox.push(chunk);
      return true;
    },
    drained: async () => {},
    end: () => inbox.end(),
  });
  return {
    async ask(commands) {
      const replies = inbox.take(commands.length);
      await session.push(encode(commands));
      return replies;
    },
    close() {
      session.close('draining');
      gone.abort();
    },
  };
}

export function encode(commands: readonly Words[]): Buffer {
  const parts: string[] = [];
  for (const words of commands) {
    parts.push(`*${words.length}\r\n`);
    for (const word of words) parts.push(`$${word.length}\r\n${word}\r\n`);
  }
  return Buffer.from(parts.join(''), 'latin1');
}

/** Replies in the order of arrival, returned on request. */
export class Inbox {
  readonly #replies = new RespReplies();
  #arrived: RespReply[] = [];
  #wanted = 0;
  #settle: ((replies: readonly RespReply[]) => void) | undefined;

  push(chunk: Uint8Array): void {
    this.#arrived.push(...this.#replies.push(chunk));
    this.#look();
  }

  /** One at a time. */
  take(count: number): Promise<readonly RespReply[]> {
    return new Promise((resolve) => {
      this.#wanted = count;
      this.#settle = resolve;
      this.#look();
    });
  }

  /** A missing reply is reported as such, so that the comparison shows it. */
  end(): void {
    this.#settle?.([...this.#arrived, { type: 'closed' }]);
  }

  #look(): void {
    if (this.#settle === undefined || this.#arrived.length < this.#wanted) return;
    const settle = this.#settle;
    this.#settle = undefined;
    const taken = this.#arrived;
    this.#arrived = taken.slice(this.#wanted);
    settle(taken.slice(0, this.#wanted));
  }
}
