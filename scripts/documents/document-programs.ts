// The code blocks of the READMEs and of the pages in docs/ that run. Every `ts` block is a whole
// program, and one marked `ts serve` runs until it is stopped; of the `sh` blocks only those marked `sh run`
// are run, because the others start servers or install things.
import type { Repository } from '../repository/repository.js';
import { findCodeBlocks } from './code-blocks.js';

export interface DocumentProgram {
  /** `README.md:12`, for messages. */
  readonly place: string;
  readonly language: 'ts' | 'sh';
  /** It prints a line when it listens on PORT, and exits cleanly on SIGTERM. */
  readonly isServing: boolean;
  readonly code: string;
  /** Kebab-case and unique. */
  readonly fileName: string;
}

const DOCUMENT = /^((packages\/[^/]+\/)?README|docs\/[^/]+)\.md$/;

export function findDocumentPrograms(repository: Repository): DocumentProgram[] {
  return repository.paths
    .filter((path) => DOCUMENT.test(path))
    .flatMap((path) =>
      findCodeBlocks(repository.textOf(path) ?? '').flatMap(({ info, code, line }) => {
        const isServing = info === 'ts serve';
        const language = info === 'ts' || isServing ? 'ts' : info === 'sh run' ? 'sh' : undefined;
        if (language === undefined) return [];
        const document = path.slice(0, -'.md'.length).replaceAll('/', '-').toLowerCase();
        const fileName = `${document}-line-${line}.${language}`;
        return [{ place: `${path}:${line}`, language, isServing, code, fileName }];
      }),
    );
}
