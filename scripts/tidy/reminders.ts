// Left-over reminders. What is worth doing is done now or written down where plans are kept; a note in
// the code is read by nobody.
import type { Rule } from '../repository/rule.js';

const reminder = /\b(TODO|FIXME|XXX|HACK)\b/;

export const reminders: Rule = {
  name: 'reminder',
  *find(repository) {
    for (const file of repository.sources) {
      for (const comment of file.comments) {
        const found = reminder.exec(comment.value)?.[0];
        if (found === undefined) continue;
        const line = file.lineAt(comment.start);
        yield { path: file.path, line, message: `"${found}" in a comment; do it or drop it` };
      }
    }
    for (const path of repository.paths.filter((known) => known.endsWith('.md'))) {
      for (const [index, text] of (repository.textOf(path) ?? '').split('\n').entries()) {
        const found = reminder.exec(text)?.[0];
        if (found === undefined) continue;
        yield { path, line: index + 1, message: `"${found}" in a document; do it or drop it` };
      }
    }
  },
};
