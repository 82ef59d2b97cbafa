import { createSystemClock, type Files, silentLogger } from '@syncline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonlSource } from './jsonl-source.js';

/** Lines that are one value, several, or part of one: several of them together can look like JSON. */
const lines = fc.constantFrom(
  '{"a":1}',
  '{"é":"[ü"}\r',
  '{"a":1},{"b":2}',
  '{"a":[{}',
  '{}]}',
  '{"a":"x',
  '{y"}',
  '{"a":{',
  '{}}}',
  '{"x":1},"y":{',
  '[1,2]',
  '7',
  '',
  '\r',
  ' ',
  '\ufeff{"a":2}',
  '{"a":"\udc00"}',
);
const files = fc.tuple(fc.array(lines, { maxLength: 12 }), fc.boolean(), fc.boolean());

function filesWith(content: Uint8Array): Files {
  const stat = { kind: 'file', bytes: content.length, inode: '1', modifiedMs: 0 };
  const readAt = async (_path: string, offset: number, length: number) =>
    content.slice(offset, offset + length);
  return { readAt, stat: async () => stat } as unknown as Files;
}

/** The result of each line by itself. */
function expectedOf(content: Uint8Array): readonly unknown[] {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return Buffer.from(content)
    .toString('latin1')
    .split('\n')
    .map((line) => line.replace(/\r$/, '').replace(/^\u00ef\u00bb\u00bf/, ''))
    .filter((line) => line !== '')
    .map((line) => {
      try {
        return JSON.parse(decoder.decode(Buffer.from(line, 'latin1'))) as unknown;
      } catch {
        return 'bad';
      }
    });
}

test('X50 every line is a separate record, whatever the adjacent lines are', async () => {
  await fc.assert(
    fc.asyncProperty(files, fc.integer({ min: 1, max: 12 }), async (file, batchItems) => {
      const [texts, isBroken, isEnded] = file;
      const broken = isBroken ? [Buffer.from('{"a":"\xff"}\n', 'latin1')] : [];
      const text = Buffer.from(texts.join('\n') + (isEnded ? '\n' : ''));
      const content = Buffer.concat([...broken, text]);
      const source = jsonlSource({ uid: 'in', files: ['f'], batchItems });
      source.attach?.({
        files: filesWith(content),
        path: (path) => path,
        clock: createSystemClock(),
        logger: silentLogger,
      });
      const found: unknown[] = [];
      for await (const batch of source.read('f', null, new AbortController().signal)) {
        const { items, bad = [] } = batch;
        const records: unknown[] = [...items];
        for (const { at } of bad.toReversed()) records.splice(at, 0, 'bad');
        found.push(...records);
      }
      expect(found).toEqual(expectedOf(content));
    }),
    {
      numRuns: 500,
      examples: [
        [[['{"a":1},{"b":2}', '{"a":[{}', '{}]}'], false, true], 12],
        [[['{"a":1},{"b":2}', '{"a":"x', '{y"}'], false, true], 12],
      ],
    },
  );
});
