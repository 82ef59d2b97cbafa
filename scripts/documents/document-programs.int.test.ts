// Runs the programs of the documents against the build: what a reader copies must work. They are
// compiled together, inside the repository, so that they resolve the packages as a user's would.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRepository, repositoryRoot } from '../repository/read-repository.js';
import { findDocumentPrograms } from './document-programs.js';

const folder = join(repositoryRoot, '.cache/document-programs');
const programs = findDocumentPrograms(readRepository());
const servers = programs.filter(({ mark }) => mark === 'serve');
const scripts = programs.filter(({ language }) => language === 'sh');
const plain = programs.filter(({ language }) => language === 'js');
const others = programs.filter(({ mark, language }) => language === 'ts' && mark === undefined);
const documents = new Set(others.map(({ place }) => place.split(':')[0] ?? ''));
const compiled = (fileName: string) => join(folder, 'out', fileName.replace(/\.ts$/, '.js'));

/** Generous, because the machine may be busy. */
const timeoutMs = 150_000;

/** Why a program failed, with its output. Its output must end with `lastLine`. */
function run(
  command: string,
  args: readonly string[],
  lastLine = '',
): Promise<{ failure: string | undefined }> {
  const options = { cwd: repositoryRoot, timeout: timeoutMs, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      const isComplete = error === null && stdout.endsWith(lastLine);
      const failure = `${error?.message ?? 'It ended too early'}\n${stdout}${stderr}`;
      resolve({ failure: isComplete ? undefined : failure });
    });
  });
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
    const javascript = { allowJs: true, checkJs: true, noEmit: true, noImplicitAny: false };
    writeFileSync(
      join(folder, 'tsconfig.plain.json'),
      JSON.stringify({
        extends: './tsconfig.json',
        compilerOptions: javascript,
        files: plain.filter(({ mark }) => mark === undefined).map(({ fileName }) => fileName),
        include: [],
      }),
    );
    for (const { fileName, code } of programs) writeFileSync(join(folder, fileName), code);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('there are some', () => {
    expect(programs.filter(({ place }) => place.startsWith('README.md'))).not.toEqual([]);
  });

  test('those in TypeScript compile', async () => {
    if (programs.every(({ language }) => language !== 'ts')) return;
    const tsc = join(repositoryRoot, 'node_modules/typescript/bin/tsc');
    expect(await run(process.execPath, [tsc, '-p', folder])).toEqual({ failure: undefined });
  });

  test('those in JavaScript have names and types that exist', async () => {
    const tsc = join(repositoryRoot, 'node_modules/typescript/bin/tsc');
    const project = join(folder, 'tsconfig.plain.json');
    expect(await run(process.execPath, [tsc, '-p', project])).toEqual({ failure: undefined });
  });

  test.each(plain)('$place is JavaScript for this version of Node', async ({ fileName }) => {
    const check = await run(process.execPath, ['--check', join(folder, fileName)]);
    expect(check).toEqual({ failure: undefined });
  });

  test.each([...documents])('those of %s run, each to its end', async (document) => {
    const runner = join(import.meta.dirname, 'run-programs.mjs');
    const found = others.filter(({ place }) => place.startsWith(`${document}:`));
    const files = found.map(({ fileName }) => compiled(fileName));
    const result = await run(process.execPath, [runner, ...files], '--- all have ended\n');
    expect(result).toEqual({ failure: undefined });
  });

  test.each(servers)('$place serves until it is stopped', async ({ fileName }) => {
    expect(await serve(compiled(fileName))).toEqual({ failure: undefined });
  });

  test.each(scripts)('$place runs', async ({ fileName }) => {
    const result = await run('bash', ['-euo', 'pipefail', join(folder, fileName)]);
    expect(result).toEqual({ failure: undefined });
  });
});
