import { expect, test } from 'vitest';
import { Repository } from '../repository/repository.js';
import { findDocumentPrograms } from './document-programs.js';

const fence = '```';

test('whole programs are found, fragments are not', () => {
  const readme = [
    '# A',
    `${fence}ts`,
    'work();',
    fence,
    `${fence}sh`,
    'npm start',
    fence,
    `${fence}sh run`,
    'true',
    'false',
    fence,
  ].join('\n');
  const repository = Repository.of({
    'README.md': readme,
    'packages/kernel/README.md': `# B\n${fence}ts\nrest();\n${fence}\n`,
    'docs/GUIDE.md': `${fence}ts serve\nguide();\n${fence}\n`,
    'docs/plain.md': `${fence}js\nconnect();\n${fence}\n${fence}js unchecked\npart();\n${fence}\n`,
    'docs/adr/0001-a-choice.md': readme,
  });
  expect(findDocumentPrograms(repository)).toEqual([
    {
      place: 'README.md:2',
      language: 'ts',
      mark: undefined,
      code: 'work();\n',
      fileName: 'readme-line-2.ts',
    },
    {
      place: 'README.md:8',
      language: 'sh',
      mark: 'run',
      code: 'true\nfalse\n',
      fileName: 'readme-line-8.sh',
    },
    {
      place: 'packages/kernel/README.md:2',
      language: 'ts',
      mark: undefined,
      code: 'rest();\n',
      fileName: 'packages-kernel-readme-line-2.ts',
    },
    {
      place: 'docs/GUIDE.md:1',
      language: 'ts',
      mark: 'serve',
      code: 'guide();\n',
      fileName: 'docs-guide-line-1.ts',
    },
    {
      place: 'docs/plain.md:1',
      language: 'js',
      mark: undefined,
      code: 'connect();\n',
      fileName: 'docs-plain-line-1.mjs',
    },
    {
      place: 'docs/plain.md:4',
      language: 'js',
      mark: 'unchecked',
      code: 'part();\n',
      fileName: 'docs-plain-line-4.mjs',
    },
  ]);
});
