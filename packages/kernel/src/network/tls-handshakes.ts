// The handshakes of one listener that are in progress.
//
// Node's own handshake timeout starts over with each byte, so a client could hold a slot forever by sending one byte
// at a time. Here one timeout covers the whole handshake. Node also does not expose which TCP socket is below a new
// TLS stream; both know the peer's address, which is unique per listener. Once a peer has reset the connection its
// address is gone, which can happen at any time: then the connection is dropped.
import type { Socket } from 'node:net';

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
    transport.on('error', () => {}); // the TLS stream reports it to the listener
    const peer = peerOf(transport);
    if (peer === undefined) {
      transport.destroy();
      return;
    }
    const timer = setTimeout(() => {
      transport.destroy(new Error(`no TLS handshake within ${this.#timeoutMs} ms`));
    }, this.#timeoutMs);
    const handshake: Handshake = { transport, timer };
    this.#byPeer.set(peer, handshake);
    transport.once('close', () => this.#remove(peer, handshake));
  }

  /** Returns the TCP socket whose handshake is done; undefined if the peer has disconnected in the meantime. */
  finish(secure: Socket): Socket | undefined {
    const peer = peerOf(secure);
    const handshake = peer === undefined ? undefined : this.#byPeer.get(peer);
    if (peer === undefined || handshake === undefined) return undefined;
    this.#remove(peer, handshake);
    return handshake.transport;
  }

  /** A closed listener accepts none of them any more. */
  dropAll(): void {
    for (const { transport } of this.#byPeer.values()) transport.destroy();
  }

  #remove(peer: string, handshake: Handshake): void {
    clearTimeout(handshake.timer);
    if (this.#byPeer.get(peer) === handshake) this.#byPeer.delete(peer); // or one came after it
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
