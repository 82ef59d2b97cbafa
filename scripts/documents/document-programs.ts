// The code blocks of the READMEs and of the pages in docs/ that are tested. Every `ts` block is a whole
// program that runs, and one marked `ts serve` runs until it is stopped. A `js` block connects to servers that are not
// there, so it is only parsed and compiled, and one marked `js unchecked` is only parsed. Of the `sh` blocks only those
// marked `sh run` are run, because the others start servers or install things.
import type { Repository } from '../repository/repository.js';
import { findCodeBlocks } from './code-blocks.js';

export interface DocumentProgram {
  /** `README.md:12`, for messages. */
  readonly place: string;
  readonly language: keyof typeof EXTENSIONS;
  /** `serve`: it prints a line when it listens on PORT, and exits cleanly on SIGTERM. */
  readonly mark: string | undefined;
  readonly code: string;
  /** Kebab-case and unique. */
  readonly fileName: string;
}

const EXTENSIONS = { ts: 'ts', js: 'mjs', sh: 'sh' } as const;
const TESTED = /^(ts( serve)?|js( unchecked)?|sh run)$/;
const DOCUMENT = /^((packages\/[^/]+\/)?README|docs\/[^/]+)\.md$/;

export function findDocumentPrograms(repository: Repository): DocumentProgram[] {
  return repository.paths
    .filter((path) => DOCUMENT.test(path))
    .flatMap((path) =>
      findCodeBlocks(repository.textOf(path) ?? '').flatMap(({ info, code, line }) => {
        if (!TESTED.test(info)) return [];
        const [language, mark] = info.split(' ') as [keyof typeof EXTENSIONS, string?];
        const document = path.slice(0, -'.md'.length).replaceAll('/', '-').toLowerCase();
        const fileName = `${document}-line-${line}.${EXTENSIONS[language]}`;
        return [{ place: `${path}:${line}`, language, mark, code, fileName }];
      }),
    );
}
