// Files and folders are named after a subject. `utils`, `helpers` and `types` name a kind of syntax:
// everything fits in, so nothing can be found. That file names are kebab-case is checked by biome.
import type { Rule } from '../repository/rule.js';

const drawerNames = new Set(['common', 'helper', 'helpers', 'misc', 'types', 'util', 'utils']);

export const fileNames: Rule = {
  name: 'file-names',
  *find(repository) {
    for (const { path } of repository.sources) {
      for (const part of path.split('/')) {
        if (!drawerNames.has(part.split('.')[0] ?? '')) continue;
        yield { path, line: 1, message: `"${part}" names no subject; name it after one` };
      }
    }
  },
};
