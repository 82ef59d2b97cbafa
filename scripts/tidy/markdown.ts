// Documents: one first-level heading each, and links that lead somewhere.
import { posix } from 'node:path';
import type { Rule } from '../repository/rule.js';

export const oneHeading: Rule = {
  name: 'one-heading',
  *find(repository) {
    for (const path of repository.paths.filter((known) => known.endsWith('.md'))) {
      const headings = [...proseLines(repository.textOf(path) ?? '')].filter(({ text }) =>
        text.startsWith('# '),
      );
      if (headings.length === 1) continue;
      const line = headings[1]?.line ?? 1;
      yield {
        path,
        line,
        message: `${headings.length} first-level headings; exactly one expected`,
      };
    }
  },
};

export const linksResolve: Rule = {
  name: 'links-resolve',
  *find(repository) {
    for (const path of repository.paths.filter((known) => known.endsWith('.md'))) {
      for (const { line, text } of proseLines(repository.textOf(path) ?? '')) {
        for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
          if (/^([a-z]+:|#)/.test(target)) continue;
          const file = posix.join(posix.dirname(path), target.replace(/#.*/, ''));
          if (repository.has(file)) continue;
          yield { path, line, message: `the link to ${target} is broken` };
        }
      }
    }
  },
};

/** The lines outside fenced code, numbered from 1. */
function* proseLines(markdown: string): Iterable<{ line: number; text: string }> {
  let isCode = false;
  for (const [index, text] of markdown.split('\n').entries()) {
    if (/^\s*(```|~~~)/.test(text)) isCode = !isCode;
    else if (!isCode) yield { line: index + 1, text };
  }
}
