// Splits a stream of text into lines. A line above the limit is passed on in pieces, which bounds the memory for a
// program that never writes a newline.

export class LineSplitter {
  readonly #charactersMax: number;
  readonly #onLine: (line: string) => void;
  #rest = '';

  constructor(options: { readonly charactersMax: number }, onLine: (line: string) => void) {
    this.#charactersMax = options.charactersMax;
    this.#onLine = onLine;
  }

  push(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#onLine(line);
    if (this.#rest.length > this.#charactersMax) this.end();
  }

  /** Passes on what is left if the text does not end with a newline. */
  end(): void {
    if (this.#rest !== '') this.#onLine(this.#rest);
    this.#rest = '';
  }
}
