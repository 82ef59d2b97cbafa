// Time, randomness, environment, console, disk and network reach code only through ports. A hidden
// `Date.now` would make a simulation lie, so each of them is banned outside a few places.
//
// Seen are names, members by name, destructured members and imports. What could hide one of them, such
// as `const time = Date` or `process[name]`, is refused as a whole.
import type { Node } from 'oxc-parser';
import { sourceRule } from '../repository/rule.js';
import { nodesOf, type SourceFile } from '../repository/source-file.js';
import { isAllowed } from './rooms.js';
import { type Ban, bannedModules, bannedNames, bannedWholes } from './world-names.js';

export const hiddenWorld = sourceRule('hidden-world', function* (file) {
  for (const { node, parent } of nodesOf(file.program)) {
    for (const name of namesUsed(node, parent)) {
      const ban = bannedNames.get(name);
      if (ban !== undefined) yield* refuse(file, name, ban, file.lineAt(node.start));
    }
    const whole =
      node.type === 'Identifier' && isTakenWhole(node, parent) && bannedWholes.get(node.name);
    if (whole) yield* refuse(file, `${node.name} as a value`, whole, file.lineAt(node.start));
  }
  for (const { specifier, names, isTypeOnly, line } of file.imports) {
    if (isTypeOnly) continue;
    const module = specifier.replace(/^node:/, '');
    const ban = bannedModules.get(module);
    if (ban !== undefined) yield* refuse(file, specifier, ban, line);
    for (const name of names.length === 0 ? ['default'] : names) {
      const member = bannedNames.get(`${module}.${name}`);
      if (member !== undefined) yield* refuse(file, `${specifier} ${name}`, member, line);
    }
  }
});

function* refuse(file: SourceFile, name: string, ban: Ban, line: number) {
  if (isAllowed(file.path, ban.part)) return;
  yield { line, message: `${name} is not for this file; ${ban.instead}` };
}

/** The names by which a node reaches for a global, if it does. */
function* namesUsed(node: Node, parent: Node | undefined): Iterable<string> {
  if (node.type === 'Identifier' && isReference(node, parent)) yield node.name;
  if (node.type === 'MemberExpression' && node.object.type === 'Identifier') {
    const member = memberName(node);
    if (member !== undefined) yield* memberNames(node.object.name, member);
  }
  if (node.type === 'VariableDeclarator' && node.init !== null) yield* taken(node.id, node.init);
  if (node.type === 'AssignmentExpression' || node.type === 'AssignmentPattern') {
    yield* taken(node.left, node.right);
  }
  const isCall = node.type === 'CallExpression' || node.type === 'NewExpression';
  if (isCall && node.callee.type === 'Identifier' && node.callee.name === 'Date') {
    if (node.type === 'CallExpression') yield 'Date()';
    else if (node.arguments.length === 0) yield 'new Date()';
  }
}

function* memberNames(object: string, member: string): Iterable<string> {
  yield `${object}.${member}`;
  if (object === 'globalThis') yield member;
}

/** What `const { env } = process` takes: `process.env`. */
function* taken(pattern: Node, from: Node): Iterable<string> {
  if (from.type === 'Identifier') yield* takenFrom(from.name, pattern);
}

function* takenFrom(object: string, pattern: Node): Iterable<string> {
  if (pattern.type !== 'ObjectPattern') return;
  for (const property of pattern.properties) {
    if (property.type !== 'Property' || property.computed) continue;
    const { key } = property;
    const member = key.type === 'Identifier' ? key.name : undefined;
    if (member === undefined) continue;
    yield* memberNames(object, member);
    yield* takenFrom(member, property.value);
  }
}

/** Not asked for one of its members by name, nor made, compared or only named in a type. */
function isTakenWhole(node: Node, parent: Node | undefined): boolean {
  if (parent === undefined || !isReference(node, parent)) return false;
  switch (parent.type) {
    case 'MemberExpression':
      return parent.object !== node || memberName(parent) === undefined;
    case 'VariableDeclarator':
      return parent.init === node && !isPlainPattern(parent.id);
    case 'AssignmentExpression':
    case 'AssignmentPattern':
      return parent.right === node && !isPlainPattern(parent.left);
    case 'NewExpression':
    case 'CallExpression':
      return parent.callee !== node;
    case 'BinaryExpression':
    case 'UnaryExpression':
    case 'TSTypeReference':
    case 'TSQualifiedName':
    case 'TSInterfaceHeritage':
    case 'ImportDefaultSpecifier':
    case 'ImportNamespaceSpecifier':
      return false;
    default:
      return true;
  }
}

/** A pattern of plain names: `takenFrom` sees all of it. */
function isPlainPattern(pattern: Node): boolean {
  return (
    pattern.type === 'ObjectPattern' &&
    pattern.properties.every((property) => property.type === 'Property' && !property.computed)
  );
}

function memberName(node: Node & { type: 'MemberExpression' }): string | undefined {
  if (node.property.type === 'Identifier' && !node.computed) return node.property.name;
  return node.property.type === 'Literal' ? String(node.property.value) : undefined;
}

/** Not the name of a property, a method or an import, and not a type. */
function isReference(node: Node, parent: Node | undefined): boolean {
  if (parent === undefined) return false;
  switch (parent.type) {
    case 'MemberExpression':
      return parent.object === node || parent.computed;
    case 'Property':
      return parent.value === node;
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return parent.value === node || parent.computed;
    case 'TSPropertySignature':
    case 'TSMethodSignature':
    case 'TSTypeQuery':
    case 'ImportSpecifier':
      return false;
    default:
      return true;
  }
}
