// Leftover reminders in documents. Those in code are found by oxlint.
import type { Rule } from '../repository/rule.js';

const reminder = /\b(TODO|FIXME|XXX|HACK)\b/;

export const reminders: Rule = {
  name: 'reminder',
  *find(repository) {
    for (const path of repository.paths.filter((known) => known.endsWith('.md'))) {
      for (const [index, text] of (repository.textOf(path) ?? '').split('\n').entries()) {
        const found = reminder.exec(text)?.[0];
        if (found === undefined) continue;
        yield { path, line: index + 1, message: `"${found}" in a document; do it or drop it` };
      }
    }
  },
};
