// A rule looks at the whole repository and names what breaks it. Tidy and architecture are two lists
// of such rules, and `judge` runs a list.
import type { Repository } from './repository.js';
import type { SourceFile } from './source-file.js';

export interface Violation {
  readonly path: string;
  /** Counted from 1; 1 when the whole file is meant. */
  readonly line: number;
  /** What is wrong and what to do instead. */
  readonly message: string;
}

export interface Rule {
  /** Kebab-case; a test plants at least one violation under this name. */
  readonly name: string;
  find(repository: Repository): Iterable<Violation>;
}

/**
 * Every violation as a line to print. Throws if there was nothing to check: a check that reads no files must
 * not look like one that passed.
 */
export function judge(rules: readonly Rule[], repository: Repository): string[] {
  if (repository.sources.length === 0) throw new Error('the rules were given no source file');
  return rules.flatMap((rule) =>
    Array.from(
      rule.find(repository),
      ({ path, line, message }) => `${path}:${line} ${rule.name}: ${message}`,
    ),
  );
}

/** A rule that looks at one source file at a time. */
export function sourceRule(
  name: string,
  find: (file: SourceFile) => Iterable<{ readonly line: number; readonly message: string }>,
): Rule {
  return {
    name,
    *find(repository) {
      for (const file of repository.sources) {
        for (const found of find(file)) yield { path: file.path, ...found };
      }
    },
  };
}
