// Lets accepted sockets read into one buffer that all of them share.
//
// Node allocates 64 KiB for each read of a socket and passes it through a stream, which costs a quarter of the
// time of a small request. `net.Socket` has the option `onread` for a buffer of one's own, but `net.Server` does
// not pass it on. So the handle of an accepted socket is moved to a new socket with that option. `handle` as an
// option and the two fields below are undocumented; where they are missing, the socket is used as it is.
import { type Server, Socket } from 'node:net';

interface AcceptedSocket {
  _handle?: object | null;
  _server?: Server | null;
}

/** The bytes of one socket, which are only valid during the call of `arrive`. */
export class SharedReads {
  readonly #socket: Socket;
  #arrive: ((chunk: Uint8Array) => void) | undefined;

  constructor(accepted: AcceptedSocket, server: Server, buffer: Uint8Array) {
    const callback = (bytesCount: number): boolean => {
      this.#arrive?.(buffer.subarray(0, bytesCount));
      return true;
    };
    const onread = { buffer, callback };
    const options = { handle: accepted._handle, allowHalfOpen: true, pauseOnCreate: true, onread };
    this.#socket = new Socket(options);
    accepted._handle = null;
    // The server counts its connections by it.
    (this.#socket as AcceptedSocket)._server = server;
    accepted._server = null;
  }

  get socket(): Socket {
    return this.#socket;
  }

  start(arrive: (chunk: Uint8Array) => void): void {
    this.#arrive = arrive;
    this.#socket.resume();
  }
}

export function shareReads(
  accepted: Socket,
  server: Server,
  buffer: Uint8Array,
): { readonly socket: Socket; readonly reads: SharedReads | undefined } {
  const inner = accepted as AcceptedSocket;
  if (!inner._handle || inner._server !== server) {
    accepted.resume();
    return { socket: accepted, reads: undefined };
  }
  const reads = new SharedReads(inner, server, buffer);
  return { socket: reads.socket, reads };
}
