import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../repository/read-repository.js';

const generatedFolder = 'packages/protocol/src/generated';

function buf(...args: readonly string[]): void {
  const program = join(repositoryRoot, 'node_modules/@bufbuild/buf/bin/buf');
  execFileSync(process.execPath, [program, ...args], { cwd: repositoryRoot, stdio: 'pipe' });
}

/** Path and text of every file below a folder. */
function filesBelow(folder: string): ReadonlyMap<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length));
  return new Map(paths.sort().map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

test('the generated code is what the contracts give (npm run proto)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'syncline-proto-'));
  try {
    buf('generate', '--output', folder);
    const expected = filesBelow(join(folder, generatedFolder));
    expect(expected.size).toBeGreaterThan(0);
    expect(filesBelow(join(repositoryRoot, generatedFolder))).toEqual(expected);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('nothing of a published contract has changed', () => {
  buf('breaking', 'proto', '--against', 'packages/protocol/testdata/published-contract');
});
