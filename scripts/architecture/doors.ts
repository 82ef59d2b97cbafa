// An entry point is a readable list of names: no logic, nothing that runs on import.
import { isDoor } from '../repository/file-kind.js';
import { sourceRule } from '../repository/rule.js';

export const doorsAreLists = sourceRule('doors-are-lists', function* (file) {
  if (!isDoor(file.path) || file.program.type !== 'Program') return;
  for (const statement of file.program.body) {
    const isList = statement.type === 'ExportNamedDeclaration' && statement.declaration === null;
    if (isList) continue;
    const line = file.lineAt(statement.start);
    yield { line, message: 'an entry point only re-exports names; move this to its own file' };
  }
});
