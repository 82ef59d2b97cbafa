// RESP without a socket: the server moves bytes, a session is the protocol.

export interface RespSessions {
  connect(peer: RespPeer): RespSession;
}

export interface RespPeer {
  /** The client is on this machine. */
  readonly loopback: boolean;
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
  /** No more bytes come. What was pushed is answered, then `output` ends. */
  close(): void;
}
