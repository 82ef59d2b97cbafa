// The lines do not depend on how the text is split into chunks, and the buffer is bounded.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineSplitter } from './line-splitter.js';

function split(chunks: readonly string[], charactersMax: number): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter({ charactersMax }, (line) => lines.push(line));
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return lines;
}

const chunks = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '\n') }));

test('the lines do not depend on how the text is split into chunks', () => {
  fc.assert(
    fc.property(chunks, (parts) => {
      expect(split(parts, 1_000_000)).toEqual(split([parts.join('')], 1_000_000));
    }),
  );
});

test('nothing is lost, and no piece exceeds the limit by more than one chunk', () => {
  fc.assert(
    fc.property(chunks, (parts) => {
      const longest = Math.max(0, ...parts.map((part) => part.length));
      const lines = split(parts, 3);
      expect(lines.join('')).toBe(parts.join('').replaceAll('\n', ''));
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(3 + longest);
    }),
  );
});
