// A Connection over a Node socket: plain TCP, or a TLS stream above it.
//
// Reading runs a little ahead of the reader (`readAheadBytes`), and not further: it costs bounded memory, and a
// connection that is not being read still notices that its peer is gone. After each `readAheadBytes` it lets the others
// read for one turn of the event loop: libuv would read 2 MiB from one socket before the next. The first write in a
// turn is sent immediately: it is usually the only one. Later ones are sent together.
//
// K63  Not pulling stops the peer; at most about `readAheadBytes` are held for the reader.
// K64  `closed` settles once, after every byte in order, and nothing here throws unhandled.
import { writeSync } from 'node:fs';
import { type Server, Socket } from 'node:net';
import { assert } from '../assert.js';
import { BoundedQueue } from '../bounded-queue.js';
import { SynclineError } from '../error.js';
import { kernelLimits } from '../limits.js';
import { formatAddress, plainHost } from './address.js';
import { DrainWaiters } from './drain-waiters.js';
import type { Address, ChunkReader, CloseReason, Connection } from './network.js';
import { connectionError } from './network-error.js';
import type { TcpSettings } from './tcp-settings.js';

const NO_BYTES = new Uint8Array(0);

export interface SocketConnectionDeps {
  /** What is read and written. */
  readonly socket: Socket;
  /** The TCP socket below a TLS stream, where a reset must go; otherwise the same one. */
  readonly transport: Socket;
  readonly peerUris: readonly string[];
  /** How the bytes of `socket` arrive and leave, if not through its stream. */
  readonly direct?: DirectSocket | undefined;
}

export class SocketConnection implements Connection {
  readonly local: Address;
  readonly remote: Address;
  readonly peerUris: readonly string[];
  readonly closed: Promise<CloseReason>;
  readonly incoming: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => this.#arrivals.pull(),
  };

  readonly #socket: Socket;
  readonly #transport: Socket;
  readonly #direct: DirectSocket | undefined;
  readonly #settings: TcpSettings;
  readonly #drainWaiters = new DrainWaiters();
  /** Bounded by pausing the socket. */
  readonly #arrivals = new Arrivals(() => this.#readOn());
  #failure: SynclineError | undefined;
  #isCorked = false;
  #bytesUntilYield: number;
  #isYielding = false;
  /** Through the stream. Node reports a write at the end of the turn, or later. */
  #writesInFlight = 0;

  constructor(deps: SocketConnectionDeps, settings: TcpSettings) {
    const { socket } = deps;
    this.local = { host: plainHost(socket.localAddress ?? ''), port: socket.localPort ?? 0 };
    this.remote = { host: plainHost(socket.remoteAddress ?? ''), port: socket.remotePort ?? 0 };
    this.peerUris = deps.peerUris;
    this.#socket = socket;
    this.#transport = deps.transport;
    this.#direct = deps.direct;
    this.#settings = settings;
    this.#bytesUntilYield = settings.readAheadBytes;
    deps.transport.on('error', (error) => this.#fail(error));
    socket.on('error', (error) => this.#fail(error));
    if (deps.direct) deps.direct.onChunk = (chunk) => this.#arrive(chunk, true);
    else socket.on('data', (chunk: Uint8Array) => this.#arrive(chunk, false));
    socket.resume();
    socket.on('end', () => this.#arrivals.close());
    this.closed = new Promise((resolve) => {
      socket.on('close', () => resolve(this.#finish()));
    });
  }

  readBy(reader: ChunkReader): void {
    this.#arrivals.handTo(reader);
  }

  get unsentBytes(): number {
    return this.#isGone() ? 0 : this.#socket.writableLength;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#isGone() || this.#socket.writableEnded) return false;
    const direct = this.#direct;
    const isFirst = this.#writesInFlight === 0;
    const rest = isFirst && direct ? direct.write(chunk) : chunk;
    if (rest.length === 0) return isFirst || this.#isDrained();
    if ((!isFirst || direct) && !this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      process.nextTick(this.#uncork);
    }
    this.#writesInFlight += 1;
    this.#socket.write(rest, this.#sent);
    return this.#isDrained();
  }

  drained(signal?: AbortSignal): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#socket.writableEnded) return Promise.reject(this.#closedError('was ended'));
    return this.#isDrained() ? Promise.resolve() : this.#drainWaiters.wait(signal);
  }

  end(): void {
    this.#socket.end();
    this.#drainWaiters.settle(this.#closedError('was ended'));
  }

  destroy(reason?: Error): void {
    if (this.#socket.destroyed) return;
    this.#failure ??= SynclineError.from(reason ?? this.#closedError('was destroyed'), 'closed');
    this.#arrivals.drop();
    this.#arrivals.fail(this.#failure);
    this.#drainWaiters.settle(this.#failure);
    // Everything was passed to the system, and a reset would make it drop what a slow peer has not read yet. Also,
    // while the last packet is in flight libuv refuses to reset a socket, and does not close it either.
    const { writableEnded, writableLength } = this.#socket;
    if (!writableEnded || writableLength > 0) resetWhenDestroyed(this.#transport);
    this.#socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy();
    await this.closed;
  }

  #readOn(): void {
    if (this.#isYielding || this.#hasReadAhead()) return;
    if (this.#socket.isPaused()) this.#socket.resume();
  }

  #arrive(chunk: Uint8Array, isBorrowed: boolean): void {
    this.#bytesUntilYield -= chunk.length;
    if (this.#bytesUntilYield <= 0) this.#yield();
    this.#arrivals.offer(chunk, isBorrowed);
    if (this.#isYielding || this.#hasReadAhead()) this.#socket.pause();
  }

  #yield(): void {
    this.#bytesUntilYield = this.#settings.readAheadBytes;
    if (this.#isYielding) return;
    this.#isYielding = true;
    setImmediate(() => {
      this.#isYielding = false;
      this.#readOn();
    });
  }

  #hasReadAhead(): boolean {
    const { readAheadBytes, readAheadChunksMax } = this.#settings;
    return this.#arrivals.bytes >= readAheadBytes || this.#arrivals.length >= readAheadChunksMax;
  }

  #isGone(): boolean {
    return this.#failure !== undefined || this.#socket.destroyed;
  }

  #isDrained(): boolean {
    return !this.#isGone() && this.unsentBytes <= this.#settings.highWaterBytes;
  }

  readonly #uncork = (): void => {
    this.#isCorked = false;
    this.#socket.uncork();
  };

  readonly #sent = (error?: Error | null): void => {
    this.#writesInFlight -= 1;
    if (!error && this.#isDrained()) this.#drainWaiters.settle();
  };

  #fail(error: Error): void {
    this.#failure ??= connectionError(this.remote, error);
  }

  /** The socket is closed: records why, and wakes all waiters. */
  #finish(): CloseReason {
    const isInOrder = this.#socket.readableEnded && this.#socket.writableFinished;
    if (!isInOrder) this.#failure ??= connectionError(this.remote);
    this.#drainWaiters.settle(this.#failure ?? this.#closedError('has ended'));
    if (!this.#failure) return { kind: 'ended' };
    this.#arrivals.fail(this.#failure);
    return { kind: 'reset', error: this.#failure };
  }

  #closedError(how: string): SynclineError {
    return new SynclineError('closed', `the connection to ${formatAddress(this.remote)} ${how}`);
  }
}

/**
 * Chunks that have arrived for the one reader of a connection, which pulls them or receives them by plain calls.
 * Calls save two promises and an iterator per chunk, most of the cost of a small request; chunks are queued only
 * while that reader asks to wait. The simulated network uses it as well.
 */
export class Arrivals {
  readonly #onTaken: (chunk: Uint8Array) => void;
  /** Bounded by its producer, since what has arrived can no longer be refused. */
  readonly #queue = new BoundedQueue<Uint8Array>({
    itemsMax: Number.POSITIVE_INFINITY,
    bytesOf: (chunk) => chunk.length,
  });
  #hasReader = false;
  #reader: ChunkReader | undefined;
  #isWaiting = false;
  #isOver = false;

  /** `onTaken` is called for each chunk that the reader has taken: there is room for that many bytes again. */
  constructor(onTaken: (chunk: Uint8Array) => void) {
    this.#onTaken = onTaken;
  }

  /** Chunks that wait for the reader. */
  get length(): number {
    return this.#queue.length;
  }

  get bytes(): number {
    return this.#queue.bytes;
  }

  /** `isBorrowed`: the bytes change after the call, so that a copy is made unless the reader needs none. */
  offer(chunk: Uint8Array, isBorrowed = false): void {
    const reader = this.#isWaiting ? undefined : this.#reader;
    const kept = isBorrowed && reader?.isBorrowing !== true ? new Uint8Array(chunk) : chunk;
    if (reader === undefined) this.#queue.offer(kept);
    else this.#hand(reader, kept);
  }

  /** Nothing more arrives. The reader still gets what is held. */
  close(): void {
    this.#queue.close();
    this.#isOver = true;
    this.#handOver();
  }

  /** The connection is gone. A pulling reader gets what is buffered, then this error; a callback gets it at once. */
  fail(error: SynclineError): void {
    this.#queue.fail(error);
    this.#isOver = true;
    if (this.#reader !== undefined) this.drop();
    this.#isWaiting = false;
    this.#handOver();
  }

  /** Discards the chunks that the reader has not taken. */
  drop(): void {
    while (this.#queue.takeNow());
  }

  pull(): AsyncIterator<Uint8Array> {
    this.#claim();
    return this.#chunks();
  }

  handTo(reader: ChunkReader): void {
    this.#claim();
    this.#reader = reader;
    this.#handOver();
  }

  #claim(): void {
    assert(!this.#hasReader, 'a connection has one reader');
    this.#hasReader = true;
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    for (let next = await this.#queue.take(); next; next = await this.#queue.take()) {
      this.#onTaken(next.item);
      yield next.item;
    }
  }

  readonly #goOn = (): void => {
    this.#isWaiting = false;
    this.#handOver();
  };

  /** The end is reported right after the last chunk, even to a reader that is still busy with it. */
  #handOver(): void {
    while (this.#reader !== undefined) {
      const next = this.#isWaiting ? undefined : this.#queue.takeNow();
      if (next !== undefined) this.#hand(this.#reader, next.item);
      else if (this.#isOver && this.#queue.length === 0) this.#end(this.#reader);
      else return;
    }
  }

  #hand(reader: ChunkReader, chunk: Uint8Array): void {
    this.#onTaken(chunk);
    const room = reader.take(chunk);
    if (room === undefined) return;
    this.#isWaiting = true;
    void room.then(this.#goOn);
  }

  #end(reader: ChunkReader): void {
    this.#reader = undefined;
    reader.end();
  }
}

/**
 * Turns the coming `destroy` of a TCP socket into a reset. It cannot simply be reset: a TLS stream above must be
 * destroyed first, or Node 20 crashes when the stream is used after its transport is gone.
 */
function resetWhenDestroyed(transport: Socket): void {
  const { destroy } = transport;
  transport.destroy = (error) => {
    transport.destroy = destroy;
    return error ? transport.destroy(error) : transport.resetAndDestroy();
  };
}

interface AcceptedSocket {
  _handle?: { readonly fd?: number } | null;
  _server?: Server | null;
}

/** A TCP socket without the cost of its stream. */
class DirectSocket {
  readonly socket: Socket;
  readonly #shared: DirectSockets;
  /** Closed when the socket has no handle any more. */
  readonly #fd: number;
  /** A chunk is only valid during the call. */
  onChunk: ((chunk: Uint8Array) => void) | undefined;
  #lastWriteTurn = 0;

  constructor(accepted: AcceptedSocket, server: Server, shared: DirectSockets) {
    const { buffer } = shared;
    let chunk = buffer; // requests often have the same size, and creating a view takes as long as a short one
    const callback = (bytesCount: number): boolean => {
      if (bytesCount !== chunk.length) chunk = buffer.subarray(0, bytesCount);
      this.onChunk?.(chunk);
      return true;
    };
    const onread = { buffer, callback };
    const options = { handle: accepted._handle, allowHalfOpen: true, pauseOnCreate: true, onread };
    this.socket = new Socket(options);
    this.#shared = shared;
    this.#fd = accepted._handle?.fd ?? -1;
    accepted._handle = null;
    // The server counts its connections by it.
    (this.socket as AcceptedSocket)._server = server;
    accepted._server = null;
  }

  /**
   * Returns what the system has not taken, for the stream: everything if this is not the first call in this turn, or
   * after an error. The stream then waits for room, or reports the error. To be called while the stream holds nothing.
   */
  write(chunk: Uint8Array): Uint8Array {
    const turn = this.#shared.turn();
    const isOpen = this.#fd >= 0 && (this.socket as AcceptedSocket)._handle;
    if (!isOpen || turn === this.#lastWriteTurn) return chunk;
    this.#lastWriteTurn = turn;
    try {
      const written = writeSync(this.#fd, chunk);
      return written === chunk.length ? NO_BYTES : chunk.subarray(written);
    } catch {
      return chunk;
    }
  }
}

/** Accepted sockets that share a buffer to read into, and count turns of the event loop together. */
export class DirectSockets {
  readonly buffer = new Uint8Array(kernelLimits.sharedReadBytes.value);
  #turn = 1;
  #isCounting = false;

  /**
   * Node allocates 64 KiB for each read and passes it through a stream, which costs a quarter of the time of a small
   * request; writing adds to that. `net.Socket` has the option `onread` for the caller's own buffer, but `net.Server`
   * does not pass it on. So the handle of an accepted socket is moved to a new one with that option. The option
   * `handle` and the fields above are undocumented; where they are missing, the socket stays as it is.
   */
  bypassStream(accepted: Socket, server: Server): DirectSocket | undefined {
    const inner = accepted as AcceptedSocket;
    const isMovable = inner._handle && inner._server === server;
    return isMovable ? new DirectSocket(inner, server, this) : undefined;
  }

  /** The number of this turn. */
  turn(): number {
    if (!this.#isCounting) process.nextTick(this.#endTurn);
    this.#isCounting = true;
    return this.#turn;
  }

  readonly #endTurn = (): void => {
    this.#isCounting = false;
    this.#turn += 1;
  };
}
