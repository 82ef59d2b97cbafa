// Where the code mentions invariants. A title (`test('K12 …')`, a case of a conformance suite) and the message
// of an assertion enforce an invariant; a comment only explains one.
import type { Node } from 'oxc-parser';
import { nodesOf, type SourceFile } from '../repository/source-file.js';
import { leadingIds } from './invariants.js';

export interface Mention {
  readonly id: string;
  readonly path: string;
  readonly line: number;
  readonly enforces: boolean;
}

export function* findMentions(file: SourceFile): Iterable<Mention> {
  const { path } = file;
  for (const { node, parent } of nodesOf(file.program)) {
    const text = textOf(node);
    if (text === undefined || (isBareId(text) && !isAssertion(parent))) continue;
    for (const id of leadingIds(text)) {
      yield { id, path, line: file.lineAt(node.start), enforces: true };
    }
  }
  for (const comment of file.comments) {
    for (const [index, text] of comment.value.split('\n').entries()) {
      const id = /^[\s*]*([A-Z]\d+) {2}\S/.exec(text)?.[1];
      if (id === undefined) continue;
      yield { id, path, line: file.lineAt(comment.start) + index, enforces: false };
    }
  }
}

function textOf(node: Node): string | undefined {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  return node.type === 'TemplateLiteral' ? node.quasis[0]?.value.raw : undefined;
}

/** In other places a bare `S3` is data, not an invariant. */
function isBareId(text: string): boolean {
  return /^[A-Z]\d+$/.test(text);
}

function isAssertion(parent: Node | undefined): boolean {
  return (
    parent?.type === 'CallExpression' &&
    parent.callee.type === 'Identifier' &&
    parent.callee.name === 'assert'
  );
}
