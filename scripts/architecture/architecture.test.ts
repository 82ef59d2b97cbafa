import { expect, test } from 'vitest';
import { proveRules } from '../repository/planted.js';
import { readRepository } from '../repository/read-repository.js';
import { Repository } from '../repository/repository.js';
import { judge } from '../repository/rule.js';
import { architectureRules } from './architecture-rules.js';
import { packageRoles } from './packages.js';
import { plantedShortcuts } from './planted-shortcuts.js';

test('the repository keeps to its architecture', () => {
  expect(judge(architectureRules, readRepository())).toEqual([]);
});

test('each rule finds its planted violations and accepts what only looks similar', () => {
  expect(proveRules(architectureRules, plantedShortcuts)).toEqual([]);
});

test('reading no source files is a failure', () => {
  const documentsOnly = Repository.of({ 'README.md': '# Syncline\n' });
  expect(() => judge(architectureRules, documentsOnly)).toThrow('no source file');
});

test('the table of packages has no cycle', () => {
  const settled = new Set<string>();
  for (let before = -1; before !== settled.size; ) {
    before = settled.size;
    for (const [name, { mayImport }] of packageRoles) {
      if (mayImport.every((target) => settled.has(target))) settled.add(name);
    }
  }
  expect([...packageRoles.keys()].filter((name) => !settled.has(name))).toEqual([]);
});
