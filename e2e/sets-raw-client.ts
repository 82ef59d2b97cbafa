// A RESP client that sends whatever bytes it is told to, reads when it likes, and sees how the connection ends.
import { connect as connectTcp, type Socket } from 'node:net';

const DEADLINE_MS = 20_000;

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

  /** Forgets what has arrived; `bytes` goes on. */
  forget(): void {
    this.#chunks = [];
  }

  send(bytes: string | Uint8Array): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** The same, and waits while the server takes nothing. Gives false when it is closed instead. */
  async sendAll(bytes: string | Uint8Array): Promise<boolean> {
    if (this.isClosed) return false;
    const chunk = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    const written = new Promise<boolean>((resolve) =>
      this.#socket.write(chunk, (error) => resolve(!error)),
    );
    return Promise.race([written, this.#closed.then(() => false)]);
  }

  /** Ends its side: no more commands come, but replies are still read. */
  endInput(): void {
    this.#socket.end();
  }

  /** Takes no more replies. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Waits for what `isThere` says; fails when the connection ends before, or at the deadline. */
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

  /** Waits for the answer to one command that is answered by one line. */
  async ask(...words: readonly string[]): Promise<string> {
    this.forget();
    this.send(encodeCommand(words));
    await this.until(() => this.text().endsWith('\r\n'));
    return this.text().slice(0, -2);
  }

  /** Waits for the end; gives all that has arrived. */
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
