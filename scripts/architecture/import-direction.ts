// Imports follow the table in packages.ts, and only use the entry points of other packages.
import { posix } from 'node:path';
import { isTest } from '../repository/file-kind.js';
import { sourceRule } from '../repository/rule.js';
import { packageOf, packageRoles, parseSynclineImport } from './packages.js';

/** Developer code that may use the testkit although it is not a test. */
const testkitUsers = /^(packages\/testkit|bench|e2e|scripts)\//;

export const importDirection = sourceRule('import-direction', function* (file) {
  const from = packageOf(file.path);
  const role = from === undefined ? undefined : packageRoles.get(from);
  if (from !== undefined && role === undefined) {
    const message = `package ${from} has no role; give it one in scripts/architecture/packages.ts`;
    yield { line: 1, message };
  }
  for (const { specifier, line } of file.imports) {
    const to = parseSynclineImport(specifier)?.name;
    if (to === undefined) continue;
    if (!packageRoles.has(to)) {
      yield { line, message: `there is no package ${to}` };
    } else if (to === 'testkit') {
      if (isTest(file.path) || testkitUsers.test(file.path)) continue;
      yield { line, message: 'testkit is only for tests' };
    } else if (role !== undefined && !role.mayImport.includes(to)) {
      const message =
        to === from
          ? `${from} imports itself by name; use a relative path`
          : `${from} may not import ${to}; if they must cooperate, server wires them`;
      yield { line, message };
    }
  }
});

export const noDeepImport = sourceRule('no-deep-import', function* (file) {
  for (const { specifier, line } of file.imports) {
    const target = parseSynclineImport(specifier);
    if (target !== undefined && target.door !== '.') {
      if (packageRoles.get(target.name)?.doors.includes(target.door)) continue;
      const message = `${specifier} is not an entry point; import what @syncline/${target.name} exports`;
      yield { line, message };
    }
    if (!specifier.startsWith('.')) continue;
    const to = packageOf(posix.join(posix.dirname(file.path), specifier));
    if (to === undefined || to === packageOf(file.path)) continue;
    yield { line, message: `${specifier} reaches into ${to}; import @syncline/${to}` };
  }
});
