// RESP without a socket: the server moves bytes, a session is the protocol.
import type { Address } from '@syncline/kernel';

export interface RespSessions {
  connect(peer: RespPeer): RespSession;
}

export interface RespPeer {
  /** Where the client is. */
  readonly address: Address;
  /** The client is on this machine. */
  readonly loopback: boolean;
  /** Fires when the connection is gone, whoever ended it: nobody takes replies any more. */
  readonly gone: AbortSignal;
  /** Drops the connection at once, with the replies that are not sent. */
  cut(): void;
}

export interface RespSession {
  /**
   * Takes bytes as they arrived, cut anywhere. A promise asks to wait with the next chunk: enough is
   * waiting already. What the client did wrong is an answer and never a throw.
   */
  push(chunk: Uint8Array): Promise<void> | undefined;
  /**
   * Replies in order, iterated once. Not pulling is backpressure. When it ends the connection is
   * closed behind the last byte; leaving the loop early means that the client is gone.
   */
  readonly output: AsyncIterable<Uint8Array>;
  /**
   * Called once for every session: no more bytes come. What was pushed is answered, then `output`
   * ends; if the client is gone there is nothing to answer.
   */
  close(): void;
}
