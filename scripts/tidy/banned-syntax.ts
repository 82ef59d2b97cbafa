// Syntax that we do without: what hides names (`export *`, default exports), what hides types (`any`,
// `!`, silenced errors), what Node cannot strip (`enum`, `namespace`), and a test that runs alone.
import type { Node } from 'oxc-parser';
import { sourceRule } from '../repository/rule.js';
import { nodesOf } from '../repository/source-file.js';

const toolConfig = /^[^/]+\.config\.ts$|^packages\/[^/]+\/[^/]+\.config\.ts$/;

export const bannedSyntax = sourceRule('banned-syntax', function* (file) {
  for (const { node } of nodesOf(file.program)) {
    const message = complaint(node, file.path);
    if (message !== undefined) yield { line: file.lineAt(node.start), message };
  }
  for (const comment of file.comments) {
    const silencer = /@ts-(ignore|nocheck|expect-error)\b/.exec(comment.value)?.[0];
    if (silencer === undefined) continue;
    yield { line: file.lineAt(comment.start), message: `${silencer}; mend the type instead` };
  }
});

function complaint(node: Node, path: string): string | undefined {
  switch (node.type) {
    case 'ExportAllDeclaration':
      return 'export * hides what a file offers; name each export';
    case 'ExportDefaultDeclaration':
      return toolConfig.test(path) ? undefined : 'a default export has no name; export a name';
    case 'TSAnyKeyword':
      return '`any` switches the checker off; use `unknown` and narrow it';
    case 'TSNonNullExpression':
      return '`!` hides a missing value; handle it or assert it';
    case 'TSEnumDeclaration':
      return '`enum` is not erasable; use an `as const` object';
    case 'TSModuleDeclaration':
      return node.kind === 'namespace' ? '`namespace` is not erasable; use a file' : undefined;
    case 'CallExpression':
      return isOnlyTest(node.callee) ? '`.only` leaves out every other test' : undefined;
    default:
      return undefined;
  }
}

function isOnlyTest(callee: Node): boolean {
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return false;
  const isTestFunction =
    callee.object.type === 'Identifier' && ['describe', 'it', 'test'].includes(callee.object.name);
  return isTestFunction && callee.property.name === 'only';
}
