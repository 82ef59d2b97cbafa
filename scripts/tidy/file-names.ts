// Files and folders are kebab-case and named after a subject. `utils`, `helpers` and `types` name a
// kind of syntax: everything fits in, so nothing can be found.
import { isGenerated } from '../repository/file-kind.js';
import type { Rule } from '../repository/rule.js';

const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const drawerNames = new Set(['common', 'helper', 'helpers', 'misc', 'types', 'util', 'utils']);

export const fileNames: Rule = {
  name: 'file-names',
  *find(repository) {
    for (const { path } of repository.sources) {
      if (isGenerated(path)) continue;
      for (const part of path.split('/')) {
        const words = part.split('.')[0] ?? '';
        if (drawerNames.has(words)) {
          yield { path, line: 1, message: `"${part}" names no subject; name it after one` };
        } else if (!kebabCase.test(words)) {
          yield { path, line: 1, message: `"${part}" is not kebab-case` };
        }
      }
    }
  },
};
