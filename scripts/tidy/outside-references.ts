// The repository stands on its own: nothing in it may point to a place on the machine of whoever
// wrote it, nor out of the repository.
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
