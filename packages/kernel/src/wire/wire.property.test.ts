// What the writer writes, the reader reads back; bytes that are truncated, too long or of another type are refused.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SynclineError } from '../error.js';
import { WireFields } from './wire-fields.js';
import { WireReader } from './wire-reader.js';
import { varintBytes, WireWriter, writeVarint } from './wire-writer.js';

const edges = [0, 1, 127, 128, 2 ** 14, 2 ** 28 - 1, 2 ** 28, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1];
const uint = fc.oneof(fc.constantFrom(...edges), fc.maxSafeNat());
const field = fc.integer({ min: 1, max: 2 ** 20 });
const values = fc.record({
  field,
  uint,
  sint: fc.integer(),
  int32: fc.integer(),
  bigint: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  double: fc.double(),
  text: fc.string({ unit: 'binary', maxLength: 200 }),
  bytes: fc.uint8Array({ maxLength: 300 }),
});
type Values = typeof values extends fc.Arbitrary<infer V> ? V : never;

function write(value: Values): Uint8Array {
  const writer = new WireWriter();
  const outer = writer.begin(value.field);
  writer.presentUint(1, value.uint);
  writer.sint(2, value.sint);
  writer.int32(3, value.int32);
  writer.bigint(4, value.bigint);
  writer.presentDouble(5, value.double);
  writer.text(6, value.text);
  writer.bytes(7, value.bytes);
  writer.fixed64(8, value.bigint);
  writer.end(outer);
  return writer.copy();
}

function read(bytes: Uint8Array): Values {
  const reader = new WireReader('sample', bytes);
  const found = { field: reader.field(), uint: 0, sint: 0, int32: 0, bigint: 0n, double: 0 };
  const texts = { text: '', bytes: new Uint8Array(0) };
  let fixed = 0n;
  const outer = reader.enter();
  for (let number = reader.field(); number !== 0; number = reader.field()) {
    if (number === 1) found.uint = reader.uint();
    else if (number === 2) found.sint = reader.sint();
    else if (number === 3) found.int32 = reader.int32();
    else if (number === 4) found.bigint = reader.bigint();
    else if (number === 5) found.double = reader.double();
    else if (number === 6) texts.text = reader.text();
    else if (number === 7) texts.bytes = Uint8Array.from(reader.message());
    else if (number === 8) fixed = reader.fixed64();
    else reader.skip();
  }
  reader.leave(outer);
  expect(fixed).toBe(found.bigint);
  expect(reader.field()).toBe(0);
  return { ...found, ...texts };
}

test('what was written is read back', () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(read(write(value))).toEqual(value);
    }),
  );
});

test('a message that is truncated anywhere is refused', () => {
  fc.assert(
    fc.property(values, fc.nat(), (value, at) => {
      const bytes = write(value);
      expect(() => read(bytes.subarray(0, at % bytes.length))).toThrow(SynclineError);
    }),
  );
});

test('a number takes exactly the bytes that are counted for it', () => {
  for (const value of edges.filter((edge) => edge < 2 ** 32)) {
    const bytes = new Uint8Array(5);
    const end = writeVarint(bytes, 0, value);
    expect(end).toBe(varintBytes(value));
    expect(new WireReader('number', bytes.subarray(0, end)).uint32()).toBe(value);
    expect(() => new WireReader('number', bytes.subarray(0, end - 1)).uint32()).toThrow('inside');
  }
});

test.each([
  ['above 32 bits', '80 80 80 80 10', (reader: WireReader) => reader.uint32(), '32 bits'],
  ['above 2^53', 'ff ff ff ff ff ff ff 7f', (reader: WireReader) => reader.safeInteger(), '2^53'],
  ['above 64 bits', 'ff ff ff ff ff ff ff ff ff 02', (r: WireReader) => r.safeInteger(), '64 bits'],
  ['without an end', 'ff ff ff ff ff ff ff ff ff ff 01', (r: WireReader) => r.uint32(), '10 bytes'],
  [
    'a length beyond the end',
    '05 61',
    (reader: WireReader) => reader.delimited(),
    'beyond the end',
  ],
  ['a field 0', '00', (reader: WireReader) => reader.field(), 'number 0'],
] as const)('%s is refused', (_, hex, run, reason) => {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  expect(() => run(new WireReader('sample', bytes))).toThrow(reason);
  expect(() => run(new WireReader('sample', bytes, 'corrupt'))).toThrow(/damaged/);
});

test('strict fields: each once, each known, each of its type', () => {
  const of = (hex: string, shape: string) =>
    new WireFields('sample', Buffer.from(hex.replaceAll(' ', ''), 'hex'), shape, 2);
  const fields = of('08 05 12 01 61 1d 01 00 00 00 22 00 22 01 62', 'nbwr');
  expect([fields.number(1), fields.text(2, 1), fields.number(3)]).toEqual([5, 'a', 1]);
  expect(fields.repeated.map((bytes) => Buffer.from(bytes).toString())).toEqual(['', 'b']);
  expect(() => fields.text(2, 0)).toThrow('at most 0');
  expect(() => of('08 05 08 05', 'n')).toThrow('appears twice');
  expect(() => of('10 05', 'n')).toThrow('tag 16 is unknown');
  expect(() => of('0a 00', 'n')).toThrow('tag 10 is unknown');
  expect(() => of('0a 00 0a 00 0a 00', 'r')).toThrow('more than 2 times');
  expect(() => of('0a 01 ff', 'b').text(1, 9)).toThrow('UTF-8');
});
