// Time, randomness, environment, console, disk and network reach code only through ports. A hidden
// `Date.now` would make a simulation lie, so each of them is banned outside a few rooms.
import type { Node } from 'oxc-parser';
import { sourceRule } from '../repository/rule.js';
import { nodesOf, type SourceFile } from '../repository/source-file.js';
import { isAllowed, type WorldPart } from './rooms.js';

interface Ban {
  readonly part: WorldPart;
  readonly instead: string;
}

const clock: Ban = { part: 'clock', instead: 'ask a Clock' };
const timer: Ban = { part: 'timer', instead: 'use the timers of a Clock' };
const random: Ban = { part: 'random', instead: 'draw from a Random' };
const environment: Ban = { part: 'environment', instead: 'take the value as an option' };
const output: Ban = { part: 'console', instead: 'write to a Logger' };
const io: Ban = { part: 'io', instead: 'go through the Storage, Files or Network port' };

/** `name` is a global, `object.member` a member of one. */
const bannedNames: ReadonlyMap<string, Ban> = new Map([
  ['console', output],
  ['setTimeout', timer],
  ['setInterval', timer],
  ['setImmediate', { part: 'turn', instead: 'use the `defer` of a Clock' }],
  ['AbortSignal.timeout', timer],
  ['Date.now', clock],
  ['performance.now', clock],
  ['process.hrtime', clock],
  ['process.uptime', clock],
  ['Math.random', random],
  ['crypto.getRandomValues', random],
  ['crypto.randomBytes', random],
  ['crypto.randomInt', random],
  ['crypto.randomUUID', random],
  ['process.env', environment],
]);

const bannedModules: ReadonlyMap<string, Ban> = new Map([
  ['node:timers', timer],
  ['node:timers/promises', timer],
  ['node:perf_hooks', clock],
  ['node:console', output],
  ...['fs', 'fs/promises', 'net', 'tls', 'dgram', 'dns', 'dns/promises', 'http', 'http2', 'https']
    .concat(['child_process', 'cluster', 'worker_threads'])
    .map((name) => [`node:${name}`, io] as const),
]);

export const hiddenWorld = sourceRule('hidden-world', function* (file) {
  for (const { node, parent } of nodesOf(file.program)) {
    for (const name of namesUsed(node, parent)) {
      const ban = name === 'new Date()' ? clock : bannedNames.get(name);
      if (ban !== undefined) yield* refuse(file, name, ban, file.lineAt(node.start));
    }
  }
  for (const { specifier, names, isTypeOnly, line } of file.imports) {
    if (isTypeOnly) continue;
    const ban = bannedModules.get(specifier);
    if (ban !== undefined) yield* refuse(file, specifier, ban, line);
    for (const name of names) {
      const member = bannedNames.get(`${specifier.replace('node:', '')}.${name}`);
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
    if (member === undefined) return;
    yield `${node.object.name}.${member}`;
    if (node.object.name === 'globalThis') yield member;
  }
  if (node.type === 'NewExpression' && node.arguments.length === 0) {
    if (node.callee.type === 'Identifier' && node.callee.name === 'Date') yield 'new Date()';
  }
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
