// The last output of a child process, as lines. Bounded: a child may write for hours.
import { StringDecoder } from 'node:string_decoder';

export class OutputTail {
  readonly #bytesMax: number;
  readonly #decoder = new StringDecoder('utf8');
  readonly #lines: string[] = [];
  readonly #listeners = new Set<(line: string) => void>();
  #bytes = 0;
  #rest = '';

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whole lines that are still kept, oldest first. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  push(chunk: Uint8Array): void {
    const parts = (this.#rest + this.#decoder.write(Buffer.from(chunk))).split('\n');
    this.#rest = (parts.pop() ?? '').slice(-this.#bytesMax);
    for (const line of parts) this.#add(line);
  }

  /** The child has ended: a last line without a line end counts too. */
  end(): void {
    const last = this.#rest + this.#decoder.end();
    this.#rest = '';
    if (last !== '') this.#add(last);
  }

  /** Calls back for each line from now on. Returns a function that unsubscribes. */
  onLine(listener: (line: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #add(line: string): void {
    this.#lines.push(line);
    this.#bytes += line.length + 1;
    while (this.#bytes > this.#bytesMax && this.#lines.length > 1)
      this.#bytes -= (this.#lines.shift()?.length ?? 0) + 1;
    for (const listener of this.#listeners) listener(line);
  }
}
