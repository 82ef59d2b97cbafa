// The handshakes of one listener that are under way.
//
// Node's own handshake timeout starts anew with each byte, so that a client could hold a place for ever
// by sending one at a time. Here the whole handshake has one time. Node does not tell which TCP socket
// lies below a new TLS stream either; both know the peer's address, and that is unique per listener.
import type { Socket } from 'node:net';
import { assert } from '../assert.js';

interface Handshake {
  readonly transport: Socket;
  readonly timer: NodeJS.Timeout;
}

export class TlsHandshakes {
  readonly #byPeer = new Map<string, Handshake>();
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  begin(transport: Socket): void {
    const peer = peerOf(transport);
    const timer = setTimeout(() => {
      transport.destroy(new Error(`no TLS handshake within ${this.#timeoutMs} ms`));
    }, this.#timeoutMs);
    this.#byPeer.set(peer, { transport, timer });
    transport.on('error', () => {}); // the listener is told through the TLS stream
    transport.once('close', () => this.#remove(peer, transport));
  }

  /** Gives the TCP socket whose handshake is done. */
  finish(secure: Socket): Socket {
    const peer = peerOf(secure);
    const handshake = this.#byPeer.get(peer);
    assert(handshake !== undefined, 'a TLS stream has its TCP socket');
    this.#remove(peer, handshake.transport);
    return handshake.transport;
  }

  /** A listener that is closed accepts none of them any more. */
  dropAll(): void {
    for (const { transport } of this.#byPeer.values()) transport.destroy();
  }

  #remove(peer: string, transport: Socket): void {
    const handshake = this.#byPeer.get(peer);
    if (handshake?.transport !== transport) return; // a later connection from the same address
    clearTimeout(handshake.timer);
    this.#byPeer.delete(peer);
  }
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}
