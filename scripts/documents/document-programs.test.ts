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
    'docs/adr/0001-a-choice.md': readme,
  });
  expect(findDocumentPrograms(repository)).toEqual([
    {
      place: 'README.md:2',
      language: 'ts',
      isServing: false,
      code: 'work();\n',
      fileName: 'readme-line-2.ts',
    },
    {
      place: 'README.md:8',
      language: 'sh',
      isServing: false,
      code: 'true\nfalse\n',
      fileName: 'readme-line-8.sh',
    },
    {
      place: 'packages/kernel/README.md:2',
      language: 'ts',
      isServing: false,
      code: 'rest();\n',
      fileName: 'packages-kernel-readme-line-2.ts',
    },
    {
      place: 'docs/GUIDE.md:1',
      language: 'ts',
      isServing: true,
      code: 'guide();\n',
      fileName: 'docs-guide-line-1.ts',
    },
  ]);
});
