// A RESP client that sends arbitrary bytes, reads on demand, and records how the connection ends.
import { connect as connectTcp, type Socket } from 'node:net';

/** Only against clients that wait forever. */
const DEADLINE_MS = 60_000;

export class SetsRawClient implements Disposable {
  readonly #socket: Socket;
  readonly #closed: Promise<void>;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => undefined); // a reset is an end like any other
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      this.#wake();
    });
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()));
    void this.#closed.then(() => this.#wake());
  }

  static connect(port: number): Promise<SetsRawClient> {
    return new Promise((resolve, reject) => {
      const socket = connectTcp(port, '127.0.0.1', () => resolve(new SetsRawClient(socket)));
      socket.once('error', reject);
    });
  }

  get isClosed(): boolean {
    return this.#socket.closed;
  }

  /** Bytes that have arrived. */
  get bytes(): number {
    return this.#bytes;
  }

  /** All that has arrived. */
  text(): string {
    return Buffer.concat(this.#chunks).toString('latin1');
  }

  /** Discards what has arrived; `bytes` keeps counting. */
  forget(): void {
    this.#chunks = [];
  }

  send(bytes: string | Uint8Array): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** The same, and waits while the server reads nothing. Returns false if the connection is closed instead. */
  async sendAll(bytes: string | Uint8Array): Promise<boolean> {
    if (this.isClosed) return false;
    const chunk = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    const written = new Promise<boolean>((resolve) =>
      this.#socket.write(chunk, (error) => resolve(!error)),
    );
    return Promise.race([written, this.#closed.then(() => false)]);
  }

  /** Ends its side: no more commands are sent, but replies are still read. */
  endInput(): void {
    this.#socket.end();
  }

  /** Disconnects at once, with a reset. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Stops reading replies. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Waits until `isThere` is true; fails if the connection ends first, or at the deadline. */
  async until(isThere: () => boolean, timeoutMs = DEADLINE_MS): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (!isThere()) {
      if (this.isClosed || performance.now() > deadlineMs)
        throw new Error(`${this.isClosed ? 'closed' : 'too late'}: ${this.text().slice(-200)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, 100);
      });
    }
  }

  /** Waits for the reply to a command with a one-line reply. */
  async ask(...words: readonly string[]): Promise<string> {
    this.forget();
    this.send(encodeCommand(words));
    await this.until(() => this.text().endsWith('\r\n'));
    return this.text().slice(0, -2);
  }

  /** Waits for the end; returns everything that has arrived. */
  async ended(): Promise<string> {
    await this.#closed;
    return this.text();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** Characters are bytes. */
export function encodeCommand(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}
