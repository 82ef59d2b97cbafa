// The code blocks of the READMEs that run. Every `ts` block is a whole program; of the `sh` blocks
// only those marked `sh run` are, because the others start servers or install things.
import type { Repository } from '../repository/repository.js';
import { findCodeBlocks } from './code-blocks.js';

export interface ReadmeProgram {
  /** `README.md:12`, for messages. */
  readonly place: string;
  readonly language: 'ts' | 'sh';
  readonly code: string;
  /** Kebab-case and unique. */
  readonly fileName: string;
}

export function findReadmePrograms(repository: Repository): ReadmeProgram[] {
  return repository.paths
    .filter((path) => /^(packages\/[^/]+\/)?README\.md$/.test(path))
    .flatMap((path) =>
      findCodeBlocks(repository.textOf(path) ?? '').flatMap(({ info, code, line }) => {
        const language = info === 'ts' ? 'ts' : info === 'sh run' ? 'sh' : undefined;
        if (language === undefined) return [];
        const owner = path.split('/').at(-2) ?? 'workspace';
        const fileName = `${owner}-line-${line}.${language}`;
        return [{ place: `${path}:${line}`, language, code, fileName }];
      }),
    );
}
