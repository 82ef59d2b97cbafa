// One parsed source file. The parser is that of oxlint, because TypeScript 7 offers no stable one.
import { type Comment, type Node, parseSync, visitorKeys } from 'oxc-parser';

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly linesCount: number;
  readonly program: Node;
  readonly comments: readonly Comment[];
  readonly imports: readonly ImportOf[];
  /** Counted from 1. */
  lineAt(offset: number): number;
}

export interface ImportOf {
  /** What stands between the quotes. */
  readonly specifier: string;
  /** Imported names; empty for a namespace, a dynamic import or an import for its effect. */
  readonly names: readonly string[];
  /** `import type`, which leaves no trace at run time; `import { type X }` does leave one. */
  readonly isTypeOnly: boolean;
  readonly line: number;
}

export function parseSource(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path} does not parse: ${error.message}`);
  const lineAt = createLineIndex(text);
  return {
    path,
    text,
    linesCount: text.trimEnd().split('\n').length,
    program,
    comments,
    imports: [...findImports(program, lineAt)],
    lineAt,
  };
}

/** Every node, parents before children, each with its parent. */
export function* nodesOf(root: Node): Iterable<{ node: Node; parent?: Node }> {
  const stack: { node: Node; parent?: Node }[] = [{ node: root }];
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    yield entry;
    const { node } = entry;
    const children: typeof stack = [];
    for (const key of visitorKeys[node.type] ?? []) {
      const child: unknown = Reflect.get(node, key);
      for (const item of Array.isArray(child) ? child : [child])
        if (isNode(item)) children.push({ node: item, parent: node });
    }
    stack.push(...children.reverse()); // the first child is taken next
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function* findImports(program: Node, lineAt: (offset: number) => number): Iterable<ImportOf> {
  for (const { node } of nodesOf(program)) {
    if (node.type === 'ImportDeclaration') {
      const named = node.specifiers.filter((specifier) => specifier.type === 'ImportSpecifier');
      yield {
        specifier: node.source.value,
        names: named.map(({ imported }) => ('name' in imported ? imported.name : imported.value)),
        isTypeOnly: node.importKind === 'type',
        line: lineAt(node.start),
      };
    } else if (node.type === 'ExportAllDeclaration' || node.type === 'ExportNamedDeclaration') {
      if (node.source === null) continue;
      const isTypeOnly = node.exportKind === 'type';
      yield { specifier: node.source.value, names: [], isTypeOnly, line: lineAt(node.start) };
    } else if (node.type === 'ImportExpression' && node.source.type === 'Literal') {
      const specifier = String(node.source.value);
      yield { specifier, names: [], isTypeOnly: false, line: lineAt(node.start) };
    } else if (node.type === 'TSImportType') {
      const specifier = node.source.value;
      yield { specifier, names: [], isTypeOnly: true, line: lineAt(node.start) };
    }
  }
}

function createLineIndex(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1;
}
