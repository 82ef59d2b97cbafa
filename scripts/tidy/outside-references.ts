// The repository is self-contained: nothing in it may refer to a path on an author's machine, nor outside the
// repository.
import type { Rule } from '../repository/rule.js';

const outside = /\.\.\/shared\/|(?<![\w.-])\/(work|home|Users)\/\w/;

export const outsideReferences: Rule = {
  name: 'outside-references',
  *find(repository) {
    for (const path of repository.paths) {
      for (const [index, text] of (repository.textOf(path) ?? '').split('\n').entries()) {
        const found = outside.exec(text)?.[0];
        if (found === undefined) continue;
        yield { path, line: index + 1, message: `"${found}…" points out of the repository` };
      }
    }
  },
};
