// RESP without a socket: the server moves bytes, and a session of the sets slice implements the protocol.
import type { RespPeer, RespSession } from '@syncline/sets';

export type { RespPeer, RespSession, RespSink } from '@syncline/sets';

export interface RespSessions {
  connect(peer: RespPeer): RespSession;
}
