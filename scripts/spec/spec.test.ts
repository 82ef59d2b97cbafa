import { expect, test } from 'vitest';
import { type Files, proveRules } from '../repository/planted.js';
import { readRepository } from '../repository/read-repository.js';
import { Repository } from '../repository/repository.js';
import { judge } from '../repository/rule.js';
import { specInvariants } from './spec-rules.js';

const code = 'packages/kernel/src/feed.test.ts';

/** A SPEC with these invariants and a file that mentions some. */
function kernel(invariants: readonly string[], text: string, by = 'a test'): Files {
  const list = invariants.map((id) => `- **${id}** Something holds.\n  Enforced by ${by}.\n`);
  return { 'packages/kernel/SPEC.md': `# Kernel\n\n${list.join('')}`, [code]: text };
}

test('every SPEC.md and the code name the same invariants', () => {
  expect(judge([specInvariants], readRepository())).toEqual([]);
});

test('a difference between SPEC and code is found in both directions', () => {
  const planted = {
    bad: [
      kernel(['K1', 'K2'], "test('K1 holds', () => {});"),
      kernel(['K1'], "test('K1 K2 hold', () => {});"),
      kernel(['K1'], "test('K1 holds', () => {}); // K9\n// K9  Holds too.\n"),
      kernel(['K1'], '// K1  Holds, says a comment.\n'),
      kernel(['K1'], "const key = 'K1';"),
      kernel(['K1', 'K1'], "test('K1 holds', () => {});"),
      kernel(['K1', 'M1'], "test('K1 holds', () => {}); test('M1 holds', () => {});"),
      kernel([], ''),
      kernel(['K1'], "test('K1 holds', () => {});", '`gone.test.ts`'),
      kernel(['K1'], "test('K1 holds', () => {});", '`feed.test.ts`, and\n  `gone.test.ts`'),
      {
        ...kernel(['K1'], "test('it holds', () => {});", '`feed.test.ts`'),
        'packages/kernel/src/other.test.ts': "test('K1 holds', () => {});",
      },
      {
        ...kernel(['K1'], "test('K1 holds', () => {});", '`feed-killed.int.test.ts`'),
        'e2e/feed-killed.int.test.ts': "test('it holds', () => {});",
      },
      {
        ...kernel(['K1'], "test('K1 holds', () => {});", '`elsewhere.test.ts`'),
        'packages/mesh/src/elsewhere.test.ts': "test('K1 holds', () => {});",
      },
      { 'packages/kernel/SPEC.md': '', [code]: '' },
      { 'packages/kernel/SPEC.md': '- **K1** Holds.\n', [code]: "test('K1 holds');" },
    ],
    good: [
      kernel(['K1', 'K2'], "test('K1, K2: both hold', () => {});"),
      kernel(['K1'], "test('K1 holds', () => {});", '`feed.test.ts`'),
      {
        ...kernel(['K1'], '', '`feed-killed.int.test.ts`'),
        'e2e/feed-killed.int.test.ts': "test('K1 holds', () => {});",
      },
      kernel(['K1'], "assert(isRight, 'K1');"),
      kernel(['K1'], 'assert(isRight, `K1: it is wrong`);'),
      kernel(['K1'], "export const suite = [{ name: 'K1 holds', run }];"),
      kernel(['K1'], "test('K1 holds', () => {}); test('M7 belongs to a mesh without SPEC');"),
      kernel(['K1'], "test('K1 holds', () => {}); const key = 'K5';"),
      { [code]: "test('K1 is not yet written down', () => {});" },
    ],
  };
  expect(proveRules([specInvariants], { 'spec-invariants': planted })).toEqual([]);
});

test('reading no source files is a failure', () => {
  const onlySpec = Repository.of({ 'packages/kernel/SPEC.md': '# Kernel\n' });
  expect(() => judge([specInvariants], onlySpec)).toThrow('no source file');
});
