// The repository as a value: every path with its text. Rules only use this and never the disk, so that a test
// can plant a violation in a few lines of memory.
import { parseSource, type SourceFile } from './source-file.js';

const sourceEnding = /\.(ts|tsx|mts|js|mjs)$/;

export class Repository {
  readonly #texts: ReadonlyMap<string, string>;
  #sources: readonly SourceFile[] | undefined;

  /** Paths are relative to the root and use forward slashes. */
  constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts;
  }

  static of(texts: Readonly<Record<string, string>>): Repository {
    return new Repository(new Map(Object.entries(texts)));
  }

  get paths(): readonly string[] {
    return [...this.#texts.keys()];
  }

  textOf(path: string): string | undefined {
    return this.#texts.get(path);
  }

  /** Whether there is such a file, or such a folder with something in it. */
  has(path: string): boolean {
    if (path === '' || this.#texts.has(path)) return true;
    const folder = path.endsWith('/') ? path : `${path}/`;
    return this.paths.some((known) => known.startsWith(folder));
  }

  /** Every TypeScript and JavaScript file, parsed once. */
  get sources(): readonly SourceFile[] {
    this.#sources ??= [...this.#texts]
      .filter(([path]) => sourceEnding.test(path))
      .map(([path, text]) => parseSource(path, text));
    return this.#sources;
  }
}
