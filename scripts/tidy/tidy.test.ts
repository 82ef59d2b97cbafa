import { expect, test } from 'vitest';
import { proveRules } from '../repository/planted.js';
import { readRepository } from '../repository/read-repository.js';
import { Repository } from '../repository/repository.js';
import { judge } from '../repository/rule.js';
import { plantedUntidiness } from './planted-untidiness.js';
import { tidyRules } from './tidy-rules.js';

test('the repository is tidy', () => {
  expect(judge(tidyRules, readRepository())).toEqual([]);
});

test('each rule finds its planted violations and accepts what only looks similar', () => {
  expect(proveRules(tidyRules, plantedUntidiness)).toEqual([]);
});

test('reading no source files is a failure', () => {
  const documentsOnly = Repository.of({ 'README.md': '# Syncline\n' });
  expect(() => judge(tidyRules, documentsOnly)).toThrow('no source file');
});
