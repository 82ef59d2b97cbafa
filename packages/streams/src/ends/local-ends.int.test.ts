import {
  appendFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { createSystemClock, silentLogger } from '@syncline/kernel';
import { createSystemFiles } from '@syncline/kernel/node';
import type { ConformanceCase } from '@syncline/kernel/testing';
import { loadEdited, makeTempDirectory } from '@syncline/testkit';
import { describe, expect, test } from 'vitest';
import { sinkSuite } from '../conformance/sink-suite.js';
import { sourceSuite } from '../conformance/source-suite.js';
import * as fileCode from './file-sink.js';
import * as jsonlCode from './jsonl-source.js';
import { memorySource } from './memory-source.js';
import type { Json, Source } from './source.js';

const ports = {
  files: createSystemFiles('/'),
  path: (path: string) => path.slice(1),
  clock: createSystemClock(),
  logger: silentLogger,
};

const linesOf = (records: readonly Json[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

describe('memorySource', () => {
  const cases = sourceSuite(async () => {
    const records: Json[] = [];
    return {
      open: () => memorySource<Json>({ uid: 'in', partitions: { p: records } }),
      partition: 'p',
      append: async (more) => void records.push(...more),
      losses: { 'shorter than the position': async () => void records.splice(2) },
      [Symbol.asyncDispose]: async () => {},
    };
  }, ['shorter than the position']);
  test.each(cases)('$name', ({ run }) => run());
});

const lossesOf = (file: string) => ({
  truncated: () => truncate(file, 20),
  'rewritten in place': async () => {
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replaceAll('record', 'RECORD'));
  },
  'replaced by another file': async () => {
    await rename(file, `${file}.1`);
    await writeFile(file, linesOf([1, 2, 3, 4, 5, 6, 7, 8, 9]).repeat(20));
  },
  removed: () => rm(file),
});

const jsonlCases = (by: typeof jsonlCode, follow: boolean) =>
  sourceSuite(
    async () => {
      const directory = await makeTempDirectory('jsonl');
      const file = join(directory.path, 'in.jsonl');
      await writeFile(file, '');
      return {
        open() {
          const options = { uid: 'in', files: [file], follow, pollMs: 5 };
          const source = by.jsonlSource<Json>(options) as unknown as Source<Json>;
          source.attach?.(ports);
          return source;
        },
        partition: file,
        append: (records) => appendFile(file, linesOf(records)),
        appendBad: () => appendFile(file, '{broken\n'),
        losses: lossesOf(file),
        [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
      };
    },
    Object.keys(lossesOf('')),
  );

const fileCases = (by: typeof fileCode) =>
  sinkSuite(
    async () => {
      const directory = await makeTempDirectory('parts');
      const dir = join(directory.path, 'out');
      await mkdir(dir);
      return {
        open() {
          const sink = by.fileSink({ uid: 'out', dir });
          sink.attach?.(ports);
          return sink;
        },
        async visible() {
          const parts = (await readdir(dir)).filter((name) => name.startsWith('part-')).sort();
          const texts = await Promise.all(parts.map((name) => readFile(join(dir, name), 'utf8')));
          const lines = texts.join('').split('\n').slice(0, -1);
          return lines.map((line) => JSON.parse(line) as Json);
        },
        [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
      };
    },
    { remembers: true },
  );

describe('jsonlSource to the end', () => {
  test.each(jsonlCases(jsonlCode, false))('$name', ({ run }) => run());
});

describe('jsonlSource that follows', () => {
  test.each(jsonlCases(jsonlCode, true))('$name', ({ run }) => run());
});

describe('fileSink', () => {
  test.each(fileCases(fileCode))('$name', ({ run }) => run());
});

describe('planted bugs', () => {
  const find = (cases: readonly ConformanceCase[], name: string) => {
    const found = cases.find((each) => each.name.includes(name));
    expect(found, name).toBeDefined();
    return found?.run() ?? Promise.resolve();
  };
  const source = 'ends/jsonl-source';
  const sink = 'ends/file-sink';
  const fromSource = (name: string) => (by: unknown) =>
    find(jsonlCases(by as typeof jsonlCode, false), name);
  const fromSink = (name: string) => (by: unknown) => find(fileCases(by as typeof fileCode), name);

  test.each([
    {
      bug: 'T20 a truncated file is not noticed',
      edits: [
        { file: source, find: 'if (stat.bytes < position.offset)', replace: 'if (false)' },
        {
          file: source,
          find: 'if (crc32(tail) !== position.tail)',
          replace: 'if (false)',
        },
      ],
      run: fromSource('T20 truncated'),
    },
    {
      bug: 'T20 the bytes before the position are not compared',
      edits: [
        {
          file: source,
          find: 'if (crc32(tail) !== position.tail)',
          replace: 'if (false)',
        },
      ],
      run: fromSource('T20 rewritten'),
    },
    {
      bug: 'T20 another file under the name is accepted',
      edits: [{ file: source, find: 'if (!isSame) throw', replace: 'if (false) throw' }],
      run: fromSource('T20 replaced'),
    },
    {
      bug: 'T16 the owner of a directory is not compared',
      edits: [
        { file: sink, find: 'checkFence(this.uid, owner, fence);', replace: 'void checkFence;' },
      ],
      run: fromSink('T16 a copy of the directory'),
    },
    {
      bug: 'T2 a repeated commit expects its staged file',
      edits: [
        {
          file: sink,
          find: 'if ((await files.stat(final)) !== undefined) await this.#checkSame(final, handle);',
          replace: 'if (result === "committed") await this.#checkSame(final, handle);',
        },
      ],
      run: fromSink('T2 a repeated commit'),
    },
  ])('$bug', async ({ bug, edits, run }) => {
    const entry = edits[0]?.file ?? '';
    const name = `streams-${bug.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
    const edited = await loadEdited({ folder: 'streams', entry, bug: name, edits });
    await expect(run(edited)).rejects.toThrow();
  });
});
