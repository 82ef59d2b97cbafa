import { expect, test } from 'vitest';
import { Repository } from '../repository/repository.js';
import { findReadmePrograms } from './readme-programs.js';

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
    'docs/ARCHITECTURE.md': readme,
  });
  expect(findReadmePrograms(repository)).toEqual([
    { place: 'README.md:2', language: 'ts', code: 'work();\n', fileName: 'workspace-line-2.ts' },
    {
      place: 'README.md:8',
      language: 'sh',
      code: 'true\nfalse\n',
      fileName: 'workspace-line-8.sh',
    },
    {
      place: 'packages/kernel/README.md:2',
      language: 'ts',
      code: 'rest();\n',
      fileName: 'kernel-line-2.ts',
    },
  ]);
});
