import { expect, it } from 'vitest';
import { OutputTail } from './output-tail.js';

const bytes = (text: string) => new TextEncoder().encode(text);

it('lines are whole, however the output was cut', () => {
  const tail = new OutputTail(1_000);
  const seen: string[] = [];
  const stop = tail.onLine((line) => seen.push(line));
  for (const byte of bytes('first\nzwölf\n\nlast')) tail.push(Uint8Array.of(byte));
  expect(tail.lines).toEqual(['first', 'zwölf', '']);
  tail.end();
  expect(tail.lines).toEqual(['first', 'zwölf', '', 'last']);
  expect(seen).toEqual(tail.lines);
  stop();
  tail.push(bytes('more\n'));
  expect(seen.length).toBe(4);
});

it('only the last bytes are kept, with and without line ends', () => {
  const tail = new OutputTail(100);
  for (let line = 0; line < 1_000; line += 1) tail.push(bytes(`line ${line}\n`));
  expect(tail.lines.at(-1)).toBe('line 999');
  expect(tail.lines.join('\n').length).toBeLessThanOrEqual(100);
  const endless = new OutputTail(100);
  for (let part = 0; part < 1_000; part += 1) endless.push(bytes('0123456789'));
  endless.end();
  expect(endless.lines.join('').length).toBe(100);
});
