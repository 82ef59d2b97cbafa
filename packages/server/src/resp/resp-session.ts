// RESP without a socket: the server moves the bytes, and sessions of the sets slice implement the protocol.
import type { RespPeer, RespSession } from '@syncline/sets';

export type { RespPeer, RespSession, RespSink } from '@syncline/sets';

export interface RespSessions {
  connect(peer: RespPeer): RespSession;
}
