// SPEC.md and the code name the same invariants: each number of a SPEC is enforced by a test or an assertion
// that carries it, in each file that the SPEC names for it, and each number in the code is known to the SPEC of
// its letter.
import type { Repository } from '../repository/repository.js';
import type { Rule, Violation } from '../repository/rule.js';
import { type Invariant, invariantLetters, parseInvariants } from './invariants.js';
import { findMentions, type Mention } from './mentions.js';

export const specInvariants: Rule = {
  name: 'spec-invariants',
  *find(repository) {
    const mentions = repository.sources
      .filter((file) => /^(packages|e2e)\//.test(file.path))
      .flatMap((file) => [...findMentions(file)]);
    const enforced = new Set(mentions.filter(({ enforces }) => enforces).map(({ id }) => id));

    for (const [letter, { path, invariants }] of readSpecs(repository)) {
      yield* judgeSpec(path, letter, invariants);
      for (const { id, line } of invariants.filter((invariant) => !enforced.has(invariant.id))) {
        yield { path, line, message: `no test title and no assert carries ${id}` };
      }
      yield* judgeFiles(path, invariants, repository.paths, mentions);
      const known = new Set(invariants.map(({ id }) => id));
      for (const mention of mentions.filter(({ id }) => id.startsWith(letter))) {
        if (known.has(mention.id)) continue;
        const message = `${mention.id} is not in ${path}`;
        yield { path: mention.path, line: mention.line, message };
      }
    }
  },
};

/** What is wrong with a SPEC by itself. */
function* judgeSpec(
  path: string,
  letter: string,
  invariants: readonly Invariant[],
): Iterable<Violation> {
  if (invariants.length === 0) yield { path, line: 1, message: 'names no invariant (**K1** …)' };
  const seen = new Set<string>();
  for (const { id, line, isEnforced } of invariants) {
    if (!id.startsWith(letter))
      yield { path, line, message: `${id} does not begin with ${letter}` };
    if (seen.has(id)) yield { path, line, message: `${id} is listed twice` };
    if (!isEnforced) yield { path, line, message: `${id} does not say "Enforced by"` };
    seen.add(id);
  }
}

/** Tests of several packages together lie outside of all of them. */
const SHARED_FOLDERS = ['packages/testkit/', 'e2e/'];

/** A file that a SPEC names must be there, and carry the number that it is named for. */
function* judgeFiles(
  path: string,
  invariants: readonly Invariant[],
  paths: readonly string[],
  mentions: readonly Mention[],
): Iterable<Violation> {
  const folders = [path.replace(/SPEC\.md$/, ''), ...SHARED_FOLDERS];
  for (const { id, line, files } of invariants) {
    for (const name of files) {
      const named = paths.filter((known) => known.endsWith(`/${name}`));
      const file = folders
        .map((folder) => named.find((known) => known.startsWith(folder)))
        .find((found) => found !== undefined);
      const isCarried = mentions.some(
        (mention) => mention.enforces && mention.id === id && mention.path === file,
      );
      if (file === undefined)
        yield { path, line, message: `${id} names ${name}, which does not exist` };
      else if (!isCarried)
        yield { path, line, message: `${id} names ${name}, which does not carry it` };
    }
  }
}

function readSpecs(
  repository: Repository,
): Map<string, { readonly path: string; readonly invariants: readonly Invariant[] }> {
  const specs = new Map<string, { path: string; invariants: Invariant[] }>();
  for (const [letter, name] of invariantLetters) {
    const path = `packages/${name}/SPEC.md`;
    const text = repository.textOf(path);
    if (text !== undefined) specs.set(letter, { path, invariants: parseInvariants(text) });
  }
  return specs;
}
