// The linters find planted violations: a rule that was switched off, or renamed by an update, fails here.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTempDirectory } from '@syncline/testkit';
import { expect, test } from 'vitest';
import { root } from '../bootstrap/root.mjs';

const PLANTED = `
export * from './other.js';
export default 1;
const value: any = 1;
value!.field;
enum Kind { A }
namespace Space { export const a = 1; }
it.only('alone', () => {});
// @ts-ignore
work();
// ${['TO', 'DO'].join('')}: later
`;

test('biome and oxlint refuse syntax that hides names, types or tests', async () => {
  await using directory = await makeTempDirectory('linters');
  const file = join(directory.path, 'badName.ts');
  await writeFile(file, PLANTED);
  const [biome, oxlint] = await Promise.all([
    outputOf('@biomejs/biome/bin/biome', [
      ...['lint', '--config-path=biome.json', '--vcs-enabled=false', '--reporter=github', file],
    ]),
    outputOf('oxlint/bin/oxlint', ['-c', '.oxlintrc.json', '--format=unix', file]),
  ]);
  for (const rule of [
    'performance/noReExportAll',
    'style/noDefaultExport',
    'style/noEnum',
    'style/noNamespace',
    'style/noNonNullAssertion',
    'style/useFilenamingConvention',
    'suspicious/noExplicitAny',
    'suspicious/noFocusedTests',
  ])
    expect(biome).toContain(rule);
  for (const rule of ['typescript(ban-ts-comment)', 'eslint(no-warning-comments)'])
    expect(oxlint).toContain(rule);
});

/** They end with an error, as expected. */
function outputOf(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const path = join(root, 'node_modules', program);
    execFile(process.execPath, [path, ...args], { cwd: root }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
