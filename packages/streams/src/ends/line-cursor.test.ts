import { createSystemClock, type Files, silentLogger } from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import { expect, test, vi } from 'vitest';
import { jsonlSource } from './jsonl-source.js';
import type { JsonlPosition } from './line-cursor.js';
import type { Json, SourceBatch } from './source.js';

const MEBIBYTE = 1024 * 1024;

function read(
  content: Buffer,
  from: Json = null,
): AsyncIterable<SourceBatch<unknown, Json & JsonlPosition>> {
  const stat = { kind: 'file', bytes: content.length, inode: '1', modifiedMs: 0 };
  const readAt = async (_path: string, offset: number, length: number) =>
    content.subarray(offset, offset + length);
  const source = jsonlSource({ uid: 'in', files: ['f'] });
  source.attach?.({
    files: { readAt, stat: async () => stat } as unknown as Files,
    path: (path) => path,
    clock: createSystemClock(),
    logger: silentLogger,
  });
  return source.read('f', from as never, new AbortController().signal);
}

for (const [what, megabytes] of [
  ['a little', 1],
  ['far', 24],
] as const) {
  test(`a line that is ${what} above the limit is bad, and is never held in memory as a whole`, async () => {
    const long = Buffer.alloc(megabytes * MEBIBYTE + 100, 'é');
    const lines = ['{"n":1}\n', '{"n":2}\n', long, '\n', '{"n":3}\n', long, '\n{"n":4}\n', long];
    const content = Buffer.concat(lines.map((line) => Buffer.from(line)));
    const concat = vi.spyOn(Buffer, 'concat');
    const batches: SourceBatch<unknown, Json & JsonlPosition>[] = [];
    for await (const batch of read(content)) batches.push(batch);
    const largest = Math.max(...concat.mock.results.map(({ value }) => (value as Buffer).length));
    concat.mockRestore();
    expect(largest).toBeLessThan(3.2 * MEBIBYTE);
    expect(batches.flatMap(({ items }) => items)).toEqual([1, 2, 3, 4].map((n) => ({ n })));
    const bad = batches.flatMap((batch) => batch.bad ?? []);
    expect(bad.map(({ raw }) => Buffer.from(raw).equals(long.subarray(0, 65_536)))).toEqual([
      true,
      true,
      true,
    ]);
    const starts = [16, 16 + long.length + 9, 16 + 2 * long.length + 18];
    expect(bad.map(({ place }) => place)).toEqual(
      starts.map((start) => `the line at byte ${start}`),
    );
    for (const [index, { position }] of batches.entries()) {
      const { offset, tail } = position;
      expect(crc32(content.subarray(Math.max(0, offset - 4_096), offset))).toBe(tail);
      const rest: unknown[] = [];
      for await (const batch of read(content, position)) rest.push(batch);
      if (index < batches.length - 1) expect(rest).toEqual(batches.slice(index + 1));
    }
    expect(batches.at(-1)?.position.offset).toBe(content.length);
  });
}
