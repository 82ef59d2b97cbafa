// Runs the programs of the documents against the build: what a reader copies must work. They are
// compiled together, inside the repository, so that they resolve the packages as a user's would.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRepository, repositoryRoot } from '../repository/read-repository.js';
import { findDocumentPrograms } from './document-programs.js';

const folder = join(repositoryRoot, '.cache/document-programs');
const programs = findDocumentPrograms(readRepository());

const timeoutMs = 30_000;

/** The output of a program, and how it ended if it failed. */
function run(command: string, args: readonly string[]): { failure: string | undefined } {
  const { status, signal, stdout, stderr } = spawnSync(command, args, {
    cwd: repositoryRoot,
    encoding: 'utf8',
    timeout: timeoutMs,
  });
  const failure = `${command} ended with ${signal ?? status}\n${stdout}${stderr}`;
  return { failure: status === 0 ? undefined : failure };
}

/** Stops a server as a supervisor would, as soon as it has reported that it listens. */
async function serve(file: string): Promise<{ failure: string | undefined }> {
  const child = spawn(process.execPath, [file], {
    cwd: repositoryRoot,
    env: { ...process.env, PORT: '0' },
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let printed = '';
  child.stderr.on('data', (text) => (printed += text));
  child.stdout.on('data', (text) => (printed += text));
  child.stdout.once('data', () => child.kill('SIGTERM'));
  const [status, signal] = await once(child, 'close');
  const failure = `${file} ended with ${signal ?? status}\n${printed}`;
  return { failure: status === 0 ? undefined : failure };
}

describe('programs in documents', () => {
  beforeAll(() => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: '../../tsconfig.base.json',
        compilerOptions: { composite: false, outDir: 'out', rootDir: '.', noUnusedLocals: false },
        include: ['*.ts'],
      }),
    );
    for (const { fileName, code } of programs) writeFileSync(join(folder, fileName), code);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('there are some', () => {
    expect(programs.filter(({ place }) => place.startsWith('README.md'))).not.toEqual([]);
  });

  test('those in TypeScript compile', () => {
    if (programs.every(({ language }) => language !== 'ts')) return;
    const tsc = join(repositoryRoot, 'node_modules/typescript/bin/tsc');
    expect(run(process.execPath, [tsc, '-p', folder])).toEqual({ failure: undefined });
  });

  test.each(programs)('$place runs', async ({ language, isServing, fileName }) => {
    const compiled = join(folder, 'out', fileName.replace(/\.ts$/, '.js'));
    const result = isServing
      ? await serve(compiled)
      : language === 'ts'
        ? run(process.execPath, [compiled])
        : run('bash', ['-euo', 'pipefail', join(folder, fileName)]);
    expect(result).toEqual({ failure: undefined });
  });
});
